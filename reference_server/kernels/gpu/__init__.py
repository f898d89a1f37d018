"""Kernels in Triton for CUDA devices, each beside its twin in torch.

A kernel is a file here with the kernel, its call, and ``agrees``, which holds the call against the twin on a
device. Triton compiles it when it is first launched. Where Triton is missing, can't compile, or disagrees,
torch serves and says so. Everything can be recorded in a CUDA graph: no call reads from the device or lets
values decide about shapes.

On a CPU the same code runs in Triton's interpreter, when the variable ``TRITON_INTERPRET`` is 1 before Triton
is imported. That is for tests.
"""
