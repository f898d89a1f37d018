"""``suffix``, suffix decoding: what mostly followed the last tokens, here and in answers before.

Right where answers repeat their prompt, themselves or one another: agents, retries, rewriting, code. The more
of the last tokens is found again, the more is guessed. It costs no model. The idea is that of Oliaro and
others (SuffixDecoding, 2024), who keep suffix trees; here it is hashes and chains of places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from reference_server.speculative import LookupConfig, Proposer, check_count, check_number
from reference_server.speculative.texts.growing_text import GrowingText
from reference_server.speculative.texts.past_texts import PastTexts
from reference_server.speculative.texts.place_index import KEY_LENGTHS, context_of, key_of
from reference_server.speculative.texts.vote import vote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.engine.sequence import Sequence

    Matches = list[tuple[int, list[int]]]

_MAX_DEPTH, _MAX_REQUESTS, _MAX_FACTOR = 256, 1_000_000, 64.0


@dataclass(frozen=True, kw_only=True)
class SuffixConfig(LookupConfig):
    """Keys of the method, named as vLLM names them.

    Attributes:
        suffix_decoding_max_tree_depth: Tokens that are found again and tokens of the draft, together at most.
        suffix_decoding_max_cached_requests: Ended requests whose outputs are remembered at most; 0 for none.
        suffix_decoding_max_spec_factor: Tokens of a draft at most, for each token that was found again.
        suffix_decoding_min_token_prob: A token whose chance is lower is not drafted: the share of places at
            which the draft up to it followed.
    """

    suffix_decoding_max_tree_depth: int = 24
    suffix_decoding_max_cached_requests: int = 10_000
    suffix_decoding_max_spec_factor: float = 1.0
    suffix_decoding_min_token_prob: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        prefix = "suffix_decoding_"
        check_count(f"{prefix}max_tree_depth", self.suffix_decoding_max_tree_depth, _MAX_DEPTH, least=2)
        cached = self.suffix_decoding_max_cached_requests
        check_count(f"{prefix}max_cached_requests", cached, _MAX_REQUESTS, least=0)
        check_number(f"{prefix}max_spec_factor", self.suffix_decoding_max_spec_factor, _MAX_FACTOR)
        check_number(f"{prefix}min_token_prob", self.suffix_decoding_min_token_prob, 1.0)

    def max_draft(self, match: int) -> int:
        """Tokens of a draft at most, after so many that were found again."""
        by_factor = int(match * self.suffix_decoding_max_spec_factor)
        return min(self.num_speculative_tokens, by_factor, self.suffix_decoding_max_tree_depth - 1)

    @property
    def max_match(self) -> int:
        """Tokens that are looked for at most: as many as leave room for their draft."""
        depth = self.suffix_decoding_max_tree_depth
        return max(match for match in range(1, depth) if match + self.max_draft(match) <= depth)

    def make_proposer(self) -> Proposer:
        """See :class:`~reference_server.speculative.LookupConfig`."""
        return SuffixProposer(self)

    def describe_guess(self) -> str:
        """See :class:`~reference_server.speculative.SpeculativeConfig`."""
        cached = self.suffix_decoding_max_cached_requests
        return f"after up to {self.max_match} that stood before, here or in {cached} past outputs"


class SuffixProposer(Proposer):
    """Continues the last tokens as they mostly went on, in the sequence itself and in past outputs alike.

    Of all lengths of a match the one is taken whose draft promises the most right tokens. Requests with a
    ``cache_salt`` leave nothing to others and get nothing from them: how long an answer takes would tell.

    Args:
        config: Its limits.
    """

    def __init__(self, config: SuffixConfig) -> None:
        self._config, self._max_match = config, config.max_match
        self._past = PastTexts(config.suffix_decoding_max_cached_requests)
        self._texts: WeakKeyDictionary[Sequence, GrowingText] = WeakKeyDictionary()

    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """See :class:`~reference_server.speculative.Proposer`."""
        drafts = {sequence: self._draft(sequence, limit) for sequence, limit in limits.items()}
        return {sequence: draft for sequence, draft in drafts.items() if draft}

    def ended(self, sequence: Sequence) -> None:
        """Remember its output, with the end of its prompt, which shows what it follows."""
        self._texts.pop(sequence, None)
        if sequence.num_output_tokens and sequence.cache_salt is None:
            num_context = min(sequence.num_prompt_tokens, self._max_match)
            self._past.add(sequence.token_ids[sequence.num_prompt_tokens - num_context :], num_context)

    def _draft(self, sequence: Sequence, limit: int) -> list[int]:
        """The best draft; of equally good ones that after the longest match."""
        best, promise = list[int](), 0.0
        matches = self._matches(sequence, limit)
        for length in sorted({match for match, _ in matches}, reverse=True):
            room = min(limit, self._config.max_draft(length))
            if room <= promise:
                break
            seen = [following for match, following in matches if match >= length]
            draft, expected = vote(seen, room, self._config.suffix_decoding_min_token_prob)
            if expected > promise:
                best, promise = draft, expected
        return best

    def _own_text(self, sequence: Sequence) -> GrowingText:
        if (text := self._texts.get(sequence)) is None:
            text = self._texts[sequence] = GrowingText()
        text.take(sequence.token_ids)
        return text

    def _matches(self, sequence: Sequence, count: int) -> Matches:
        """Places by the longest key that is found: how much they share, and what followed there."""
        own = self._own_text(sequence)
        texts = (own, self._past) if sequence.cache_salt is None else (own,)
        context = context_of(sequence.token_ids, self._max_match)
        for length in KEY_LENGTHS:
            if length <= min(self._max_match, sequence.num_tokens):
                key = key_of(sequence.token_ids[-length:])
                if matches := [m for text in texts for m in text.find(length, key, context, count)]:
                    return matches
        return []


CONFIG = SuffixConfig
