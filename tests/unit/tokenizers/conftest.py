"""Small tokenizers made here, and stand-ins that count in odd ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from scenarios.tokenizers import TokenCounter, open_tokenizer
from scenarios.vocabulary import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class Counted(TokenCounter):
    """A tokenizer by a function of the text."""

    def __init__(self, length: Callable[[str], int]) -> None:
        self.name = "a stand-in"
        self.num_counted = 0
        self._length = length

    def count(self, texts: Sequence[str]) -> list[int]:
        """See ``TokenCounter``."""
        self.num_counted += len(texts)
        return [self._length(text) for text in texts]


@pytest.fixture(scope="session")
def byte_level_bpe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a byte-level BPE that knows some of our words and puts a token before every text."""
    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1_400, special_tokens=["<s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    known = [f"{word} {word} a {word}" for word in WORDS[:300]]
    library.train_from_iterator([" ".join(known)] * 3 + known, trainer)
    library.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    folder = tmp_path_factory.mktemp("byte-level-bpe")
    library.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def bpe(byte_level_bpe: Path) -> TokenCounter:
    """The same, opened."""
    return open_tokenizer(byte_level_bpe)


@pytest.fixture(scope="session")
def of_bytes() -> TokenCounter:
    """One token for each byte."""
    return Counted(lambda text: len(text.encode()))
