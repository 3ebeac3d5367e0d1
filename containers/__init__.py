"""Where an application runs: inline, in a warmed process, later in a hardened container, behind one ``Session``.

    session.py      the interface, and the ways in which a sandbox can fail
    runtimes.py     the runtimes by name
    inline.py       the runtime in this process
    process.py      the runtime in forked processes; zygote.py is its handle on the warmed parent, channel.py on a child
    host.py         the warmed parent; child.py a fork of it; guard.py ends what survives it
    namespaces.py   what a sandbox can see and reach; kernel.py the system calls for it
    frames.py       messages on a stream of bytes; service.py what answers them

What the bytes of a request mean is not known here.
"""
