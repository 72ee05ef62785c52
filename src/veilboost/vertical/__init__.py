"""Protocols between a lead and partners: one file per protocol, both sides."""

from veilboost.vertical import opboost
from veilboost.vertical.columns import Input, Nominal, Own
from veilboost.vertical.job import Job, LeadTable, Thresholds, Trained
from veilboost.vertical.samples import needed, samples
from veilboost.vertical.sharpening import Extrapolation
from veilboost.vertical.together import together

__all__ = [
    "Extrapolation",
    "Input",
    "Job",
    "LeadTable",
    "Nominal",
    "Own",
    "Thresholds",
    "Trained",
    "needed",
    "opboost",
    "samples",
    "together",
]
