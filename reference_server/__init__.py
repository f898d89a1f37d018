"""The bundled OpenAI-compatible inference server."""
