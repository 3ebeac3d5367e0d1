"""Where an application runs: inline, in a warmed process, later in a hardened container, behind one ``Session``.

What the bytes of a request mean is not known here.
"""
