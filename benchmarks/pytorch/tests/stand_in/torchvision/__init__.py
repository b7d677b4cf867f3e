"""Stands in for torchvision: one network."""

import types

import torch

models = types.SimpleNamespace(resnet50=torch.Network)
