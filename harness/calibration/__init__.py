"""How far the harness may be trusted on this machine: measured against a server that knows.

The bundled timetable server logs on the monotonic clock, which all processes of a machine share, when it
handed each token to the kernel. A load of many streams is run against it (``load``), each request is
found in its log (``comparison``), and what the harness said of its own error is held against
what it really was (``level``). The loads grow until the machine is at its end (``calibrate``). What was found
is kept (``kept``), so that a later run can say that it went beyond.
"""
