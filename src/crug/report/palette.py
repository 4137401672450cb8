"""The colours of all figures."""

TRUTH, MODEL, THIRD = "#444444", "#c8401e", "#3b6ea5"
EACH, MEAN = "#bbbbbb", "#000000"
"""Of many alike, and of their mean."""
