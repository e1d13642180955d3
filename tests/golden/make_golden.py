#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes models.json: the losses and first gradients that PyTorch computes for small instances of the built-in models.

Made with torch 2.15.0 from Python, CPU, fp64: python3 make_golden.py > models.json
The networks are written down here a second time, in Python, under the names that torchvision (ResNet) and GPT-2 use.
Parameters and inputs come from a hash of (index of the tensor, index of the element) that the C++ test knows too, so
that the file holds summaries only: sums, norms and first elements of each gradient.
"""
import json
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

INPUTS, TARGETS = 1000, 1001  # indices of these tensors in the hash


def hashed(count, tensor):
    """`count` integers in [0, 2^32), a function of the element's index and the tensor's."""
    mask = 0xFFFFFFFF
    h = (torch.arange(count, dtype=torch.int64) * 2654435761 + tensor * 40503 + 1) & mask
    h ^= h >> 15
    h = (h * 1103515245 + 12345) & mask  # below 2^63
    return h ^ (h >> 13)


def uniform(shape, tensor, amplitude):
    """Values in [-amplitude, amplitude), rounded to fp32."""
    unit = hashed(math.prod(shape), tensor).double() / 2**32
    return ((2 * unit - 1) * amplitude).float().double().reshape(shape)


def fill(model):
    """Matrices and kernels: of variance 2 / fan-in; weights of norms around 1, biases around 0."""
    with torch.no_grad():
        for k, (name, p) in enumerate(model.named_parameters()):
            if p.dim() > 1:
                p.copy_(uniform(p.shape, k, math.sqrt(6 / (p.numel() / p.shape[0]))))
            else:
                p.copy_(uniform(p.shape, k, 0.1) + (1 if name.endswith("weight") else 0))


# ------------------------------------------------------------------------------------------------ models
class Mlp(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class Cnn(nn.Module):
    def __init__(self, shape, classes, width, batchnorm):
        super().__init__()
        self.conv1 = nn.Conv2d(shape[0], width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width) if batchnorm else nn.Identity()
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(2 * width) if batchnorm else nn.Identity()
        self.fc1 = nn.Linear(2 * width * (shape[1] // 4) * (shape[2] // 4), 128)
        self.fc2 = nn.Linear(128, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Bottleneck(nn.Module):
    def __init__(self, cin, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = None
        if stride != 1 or cin != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(cin, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    def __init__(self, channels, classes, small):
        super().__init__()
        self.small = small
        self.conv1 = nn.Conv2d(channels, 64, 3, 1, 1, bias=False) if small else nn.Conv2d(channels, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        cin = 64
        for n, (width, count, stride) in enumerate(((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)), 1):
            layer = []
            for i in range(count):
                layer.append(Bottleneck(cin, width, stride if i == 0 else 1))
                cin = 4 * width
            setattr(self, f"layer{n}", nn.Sequential(*layer))
        self.fc = nn.Linear(cin, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = x if self.small else F.max_pool2d(x, 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = (y.view(n, t, self.heads, d // self.heads).transpose(1, 2) for y in self.c_attn(x).split(d, 2))
        scores = q @ k.transpose(2, 3) / math.sqrt(d // self.heads)
        scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), -math.inf)
        return self.c_proj((scores.softmax(3) @ v).transpose(1, 2).reshape(n, t, d))


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = FeedForward(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    def __init__(self, layers, heads, width, context, vocab):
        super().__init__()
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for layer in self.h:
            x = layer(x)
        return self.ln_f(x) @ self.wte.weight.T


# ------------------------------------------------------------------------------------------------ summaries
def summary(name, p):
    g = p.grad.flatten()
    signs = 1 - 2 * (hashed(g.numel(), 0) & 1).double()
    return {
        "name": name,
        "shape": list(p.shape),
        "sum": g.sum().item(),
        "abs": g.abs().sum().item(),
        "norm": g.norm().item(),
        "signed": (g * signs).sum().item(),
        "first": g[:4].tolist(),
    }


def case(model, make, shape, classes, batch, options, smoothing=0.0, gradients=True):
    net = make().double()
    fill(net)
    net.train()
    if model == "gpt":
        inputs = (hashed(batch * shape[0], INPUTS) % classes).reshape(batch, *shape)
        targets = (hashed(batch * shape[0], TARGETS) % classes).reshape(batch, *shape)
    else:
        inputs = uniform((batch, *shape), INPUTS, 1.0)
        targets = hashed(batch, TARGETS) % classes

    def loss():
        return F.cross_entropy(net(inputs).flatten(0, -2), targets.flatten(), label_smoothing=smoothing)

    value = loss()
    value.backward()
    net.eval()
    with torch.no_grad():
        evaluated = loss().item()
    parameters = list(net.named_parameters())
    return {
        "model": model,
        "options": options,
        "sample_shape": list(shape),
        "classes": classes,
        "batch": batch,
        "label_smoothing": smoothing,
        "parameters": sum(p.numel() for _, p in parameters),
        "loss": value.item(),
        "eval_loss_after": evaluated,
        "gradient_norm": math.sqrt(sum(p.grad.square().sum().item() for _, p in parameters)),
        "gradients": [summary(n, p) for n, p in parameters] if gradients else [],
    }


def main():
    torch.set_num_threads(1)  # the order of sums depends on the number of threads
    cases = [
        case("mlp", lambda: Mlp([64, 16, 16, 10]), (1, 8, 8), 10, 5, {"hidden": "16,16"}, 0.1),
        case("cnn", lambda: Cnn((1, 8, 8), 10, 4, False), (1, 8, 8), 10, 5, {"width": "4"}),
        case("cnn", lambda: Cnn((2, 9, 11), 7, 4, True), (2, 9, 11), 7, 4, {"width": "4", "batchnorm": "1"}),
        case("resnet50", lambda: ResNet50(3, 1000, False), (3, 64, 64), 1000, 2, {}),
        case("resnet50", lambda: ResNet50(1, 10, True), (1, 16, 16), 10, 2, {"small": "1"}, 0.0, False),
        case("gpt", lambda: Gpt(2, 2, 16, 12, 50), (12,), 50, 3,
             {"layers": "2", "heads": "2", "width": "16", "context": "12", "vocab": "50"}),
    ]
    head = {"made_by": "tests/golden/make_golden.py", "torch": torch.__version__, "dtype": "fp64"}
    lines = ",\n".join(json.dumps(c, separators=(",", ":")).replace('{"name"', '\n{"name"') for c in cases)
    print(json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}")


if __name__ == "__main__":
    main()
