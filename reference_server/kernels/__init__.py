"""Kernels in C for the CPU, each beside its twin in torch.

A kernel is a file ``<name>.c`` and a file ``<name>.py`` with its twin, the call, and ``agrees``, which holds
the one against the other. All C files are compiled together by the system's compiler when the first model is
loaded, and kept in the cache. Without a compiler, or if a kernel disagrees with its twin, torch serves.

Kernels compute in bfloat16 on a CPU. Anything else, float32 above all, is torch's.
"""
