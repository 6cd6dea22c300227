"""What scikit-learn's tools need to know about estimators which learn from tables of labels."""

from __future__ import annotations

from typing import Any

__all__ = ["label_tags"]


def label_tags(tags: Any) -> Any:
    """Change scikit-learn's description of an estimator: it learns from tables of labels. Return it."""
    tags.input_tags.sparse = True
    tags.target_tags.required = True
    tags.target_tags.multi_output = True
    tags.target_tags.single_output = False
    if tags.classifier_tags is not None:
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
    return tags
