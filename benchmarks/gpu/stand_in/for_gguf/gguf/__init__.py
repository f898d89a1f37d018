"""Takes gguf's place where it is not installed: enough to import an engine that reads no GGUF."""
