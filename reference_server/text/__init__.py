"""Between text and token ids: tokenizer, detokenizer, stop strings, chat template. Needs no torch."""
