"""The commands of ``python -m reference_server``, one file each."""
