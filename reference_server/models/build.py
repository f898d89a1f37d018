"""From a checkpoint to a model that runs."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from reference_server import models
from reference_server.models.errors import CheckpointError, UnsupportedModelError
from reference_server.models.rope import rope_table

if TYPE_CHECKING:
    from reference_server.models.checkpoint import Checkpoint, StoredTensor
    from reference_server.quantization import QuantizationScheme


def build_model(
    checkpoint: Checkpoint,
    scheme: QuantizationScheme,
    *,
    dtype: torch.dtype,
    device: torch.device,
    max_len: int,
) -> Any:  # noqa: ANN401  # model classes are found by name; the contract stands in the package's docstring
    """Make the model of a checkpoint, ready for inference.

    Args:
        checkpoint: What a loader read.
        scheme: Makes the linear modules.
        dtype: Of computation.
        device: Where it runs.
        max_len: Positions to prepare for.

    Raises:
        UnsupportedModelError: The architecture is not built.
        CheckpointError: A tensor is missing, superfluous or of the wrong shape.
    """
    model_class = _model_class(checkpoint.config.architecture)
    with torch.device("meta"):
        model = model_class(checkpoint.config)
    filler = _Filler(checkpoint, scheme, dtype, device)
    filler.fill(model, model_class.FUSED)
    filler.check_all_used()
    model.rope = rope_table(checkpoint.config, max_len).to(device, dtype)
    return model.eval().requires_grad_(False)


def architectures() -> dict[str, Any]:
    """Model classes by the architecture they build."""
    found: dict[str, Any] = {}
    for info in pkgutil.iter_modules(models.__path__):
        module = import_module(f"{models.__name__}.{info.name}")
        found.update(dict.fromkeys(getattr(module, "ARCHITECTURES", ()), getattr(module, "MODEL", None)))
    return found


def _model_class(architecture: str) -> Any:  # noqa: ANN401  # as above
    known = architectures()
    if architecture not in known:
        raise UnsupportedModelError(
            f"architecture {architecture!r} is not supported; supported are {', '.join(sorted(known))}"
        )
    return known[architecture]


class _Filler:
    """Puts tensors of a checkpoint into a model that was made without memory, and remembers which it used."""

    def __init__(
        self, checkpoint: Checkpoint, scheme: QuantizationScheme, dtype: torch.dtype, device: torch.device
    ) -> None:
        self._tensors = checkpoint.tensors
        self._tied = checkpoint.config.tie_word_embeddings
        self._scheme, self._dtype, self._device = scheme, dtype, device
        self._used: set[str] = set()

    def fill(self, model: nn.Module, fused: dict[str, tuple[str, ...]]) -> None:
        for path, module in list(model.named_modules()):
            if isinstance(module, nn.Linear):
                self._replace_linear(model, path, module, fused)
            else:
                self._fill_parameters(path, module)

    def check_all_used(self) -> None:
        unused = sorted(set(self._tensors) - self._used)
        if unused:
            raise CheckpointError(
                f"the checkpoint holds tensors that the model has no place for: {', '.join(unused[:3])} "
                f"({len(unused)} in all); its config does not match its weights"
            )

    def _replace_linear(
        self, model: nn.Module, path: str, module: nn.Linear, fused: dict[str, tuple[str, ...]]
    ) -> None:
        parent, _, name = path.rpartition(".")
        if self._tied and path == "lm_head":
            sources = ["model.embed_tokens"]
        else:
            sources = [f"{parent}.{part}".lstrip(".") for part in fused.get(name, (name,))]
        weights = [self._stored(f"{source}.weight") for source in sources]
        _check_shape(path, (sum(w.shape[0] for w in weights), weights[0].shape[1]), module.weight.shape)
        layer = self._scheme.linear(
            weights, self._bias(sources, weights), dtype=self._dtype, device=self._device
        )
        setattr(model.get_submodule(parent), name, layer)

    def _bias(self, sources: list[str], weights: list[StoredTensor]) -> Tensor | None:
        """The bias of joined layers: whichever the checkpoint has, zeros for the others."""
        names = [f"{source}.bias" for source in sources]
        if not any(name in self._tensors for name in names):
            return None
        parts = [
            self._dense(name) if name in self._tensors else torch.zeros(weight.shape[0], dtype=self._dtype)
            for name, weight in zip(names, weights, strict=True)
        ]
        return torch.cat([part.to(self._device) for part in parts])

    def _fill_parameters(self, path: str, module: nn.Module) -> None:
        for name, parameter in list(module.named_parameters(recurse=False)):
            full = f"{path}.{name}"
            dense = self._dense(full)
            _check_shape(full, dense.shape, parameter.shape)
            setattr(module, name, nn.Parameter(dense, requires_grad=False))

    def _dense(self, name: str) -> Tensor:
        return self._stored(name).read().to(self._device, self._dtype)

    def _stored(self, name: str) -> StoredTensor:
        if name not in self._tensors:
            raise CheckpointError(f"tensor {name!r} is missing from the checkpoint; fetch it again")
        self._used.add(name)
        return self._tensors[name]


def _check_shape(name: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if tuple(found) != tuple(expected):
        raise CheckpointError(f"{name} has shape {tuple(found)}, but its config says {tuple(expected)}")
