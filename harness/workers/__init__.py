"""The load of a run, sent by several processes.

Every worker makes the whole schedule from the seed and takes its share of it (``shares``), so that nothing
has to be handed out while the load goes on. All count from one instant of the monotonic clock, which the
processes of a machine share: together they send what one would have sent, when it would have sent it.

A worker is ``LocalLoad`` in a process of its own (``worker``), of this machine (``process``) or of another
(``remote``). The run's process (``crew``) starts or finds the workers, hears from each several times a
second, decides for all when the load ends early, and puts together what they counted
(``harness.tally.Part``) and their journals (``journals``). They talk in the messages of ``messages``.

A worker that is lost ends the load. Its requests count as far as its journal goes, and the run is INVALID.
"""
