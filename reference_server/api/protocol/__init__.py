"""Request bodies, one file per endpoint family. Names are OpenAI's and vLLM's; null counts as absent."""
