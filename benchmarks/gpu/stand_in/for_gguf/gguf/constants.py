"""No quantized types."""

from __future__ import annotations

import enum

GGML_QUANT_SIZES: dict[object, tuple[int, int]] = {}


class GGMLQuantizationType(enum.IntEnum):
    """Numbers of a file's types, of which none is read."""

    F32 = 0
