"""The HTTP side: OpenAI's endpoints as vLLM answers them, on FastAPI and uvicorn.

A request's way: ``body`` reads and checks it (``protocol`` holds the fields), ``admission`` lets it in,
``prompts`` makes token ids of it, ``generation`` runs its choices through the engine, ``choice`` turns tokens
into text, and ``frames`` or ``answer`` render the reply. One file per endpoint family: ``chat``,
``completions``, ``models``, ``tokens``, ``health``.
"""
