"""The commands of ``tokenpace``, one file each: a module with a click command named ``command``."""
