"""The engine: sequences, KV blocks, scheduler, model runner, sampler. Token ids in, token ids out."""
