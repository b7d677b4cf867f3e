"""The U-Net of Ronneberger et al., 2015, with batch norms and padded convolutions, in PyTorch."""

import torch
from torch import nn


def two_convolutions(channels, out):
    layers = []
    for inside in (channels, out):
        layers += [nn.Conv2d(inside, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        widths = [64 << level for level in range(5)]
        self.first = two_convolutions(channels, widths[0])
        self.down = nn.ModuleList(two_convolutions(a, b) for a, b in zip(widths, widths[1:]))
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, stride=2) for width in reversed(widths[:-1]))
        self.after = nn.ModuleList(two_convolutions(2 * width, width) for width in reversed(widths[:-1]))
        self.classes = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = [self.first(x)]
        for level in self.down:
            kept.append(level(self.pool(kept[-1])))
        x = kept.pop()
        for up, after in zip(self.up, self.after):
            x = after(torch.cat([kept.pop(), up(x)], dim=1))
        return self.classes(x)
