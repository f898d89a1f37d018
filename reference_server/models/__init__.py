"""Models and the checkpoints they are made from.

A model file names the architectures it builds and the class that builds them::

    ARCHITECTURES = ("llama", "qwen2", "qwen3")
    class Llama(nn.Module): ...
    MODEL = Llama

The class is constructed from a :class:`~reference_server.models.config.ModelConfig` and offers

- ``FUSED``: linear modules that hold several tensors of a checkpoint, by name;
- ``forward(token_ids [T], positions [T], attend) -> hidden [T, hidden_size]``, where
  ``attend(layer, query, key, value)`` is all it knows of KV blocks and batches;
- ``logits(hidden [R, hidden_size]) -> [R, vocab_size]``.

Its parameters carry the names of Hugging Face checkpoints, to which every loader translates. A model never
learns that it is quantized: :mod:`~reference_server.models.build` swaps its linear modules.
"""
