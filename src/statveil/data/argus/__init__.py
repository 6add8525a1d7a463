"""Files of tau-ARGUS on the way in: metadata (.rda), records (.asc), trees and codes (.hrc, .cdl, .grc)."""
