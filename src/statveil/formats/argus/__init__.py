"""Files of tau-ARGUS: metadata (.rda), records (.asc), trees (.hrc, .cdl, .grc), tables (.tab), a-priori lists (.hst), batches (.arb)."""
