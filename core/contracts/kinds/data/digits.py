"""scikit-learn's handwritten digits: 8x8 pixels, ten classes."""

from core.contracts.kinds.declarations import DataKind, Ends

KIND = DataKind("picture", lambda model: Ends(64, 10))
