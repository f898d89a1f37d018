"""Small arrays go to the device in one copy, each from an aligned place on."""

from __future__ import annotations

import numpy as np
import torch

from reference_server.engine.upload import pack, upload

CPU = torch.device("cpu")


def test_arrays_come_back_as_they_were() -> None:
    arrays = [np.arange(n) - 3 for n in (1, 4, 0, 5, 7)]
    found = upload(arrays, CPU)
    assert [tensor.tolist() for tensor in found] == [array.tolist() for array in arrays]
    assert {tensor.dtype for tensor in found} == {torch.int32}


def test_each_array_begins_at_16_bytes_of_one_memory() -> None:
    """Triton compiles another variant for addresses that are not: a request would wait for it."""
    packed, places = pack([np.ones(n) for n in (1, 4, 0, 5)])
    assert [place.start % 4 for place in places] == [0] * 4
    assert packed.size == 16
    storages = {tensor.untyped_storage().data_ptr() for tensor in upload([np.ones(3), np.ones(2)], CPU)}
    assert len(storages) == 1
