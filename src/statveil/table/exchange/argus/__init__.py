"""Tables of tau-ARGUS, in and out: ready tables (.tab), a-priori files (.hst), code-value, SBS and CSV."""
