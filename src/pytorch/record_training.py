"""Trains a network for a few steps in PyTorch and records what ran: the reference of `jitterscope verify-pytorch`.

Writes into --output: trace.json (torch.profiler, with shapes), frontend.log (cudnn-frontend: the plan of each
convolution) and facts.json (versions). Needs torch, and torchvision or transformers where the network is theirs.
Exit status: 0 recorded, 2 what was asked is not known, 1 PyTorch or a package of it is missing or failed.
"""

import argparse
import json
import os
import pathlib
import sys

TORCHVISION = {"alexnet": "alexnet", "vgg16": "vgg16", "resnet18": "resnet18", "resnet50": "resnet50",
               "mobilenet_v2": "mobilenet_v2", "vit-b16": "vit_b_16"}
BATCHES = {"unet": 4, "gpt2": 8}
CLASSES, SEED = 1000, 1


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True, choices=[*TORCHVISION, *BUILDERS])
    parser.add_argument("--batch", type=int)
    parser.add_argument("--dtype", default="f32", choices=["f32", "tf32", "f16", "bf16"])
    parser.add_argument("--layout", default="nchw", choices=["nchw", "nhwc"])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--benchmark", action="store_true")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    return parser.parse_args()


def without_dropout(torch, network):
    # Dropout would draw a new mask in each step; the layers around it stay the same without it.
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return network.train()


def images(torch, options, size):
    shape = (options.batch, 3, size, size)
    return torch.randn(shape, device=options.device, dtype=options.type).to(memory_format=options.format)


def classifier(torch, options):
    import torchvision

    network = getattr(torchvision.models, TORCHVISION[options.model])()
    x = images(torch, options, 224)
    labels = torch.randint(CLASSES, (options.batch,), device=options.device)
    return network, lambda: torch.nn.functional.cross_entropy(network(x), labels)


def segmentation(torch, options):
    import unet

    network = unet.UNet(3, 2)
    x = images(torch, options, 512)
    return network, lambda: network(x).sum()


def bert(torch, options):
    import transformers

    # Attention's dropout is a number of the configuration, not a module.
    configuration = transformers.BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    network = transformers.BertModel(configuration)
    words = torch.randint(30522, (options.batch, 128), device=options.device)
    return network, lambda: network(words).pooler_output.sum()


def gpt2(torch, options):
    import transformers

    configuration = transformers.GPT2Config(activation_function="gelu", use_cache=False,
                                            attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0)
    network = transformers.GPT2LMHeadModel(configuration)
    words = torch.randint(50257, (options.batch, 1024), device=options.device)

    def loss():
        logits = network(words).logits
        return torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), words.view(-1))

    return network, loss


BUILDERS = {"unet": segmentation, "bert-base": bert, "gpt2": gpt2}


def build(torch, options):
    try:
        network, loss = BUILDERS.get(options.model, classifier)(torch, options)
    except ImportError as error:
        sys.exit(f"{error}: {options.model} needs torchvision or transformers beside torch; pip install it")
    network.to(options.device, options.type)
    if options.format == torch.channels_last:
        network.to(memory_format=torch.channels_last)
    return without_dropout(torch, network), loss


def run_step(network, loss):
    network.zero_grad(set_to_none=True)
    loss().backward()


def select_gpu(torch, device):
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU: python3 -c 'import torch; print(torch.cuda.is_available())' says False")
    number = torch.device(device).index or 0
    if number >= torch.cuda.device_count():
        sys.exit(f"PyTorch sees no {device}: torch.cuda.device_count() is {torch.cuda.device_count()}")
    # Workspaces and library handles belong to the current device.
    torch.cuda.set_device(number)


def main():
    options = read_arguments()
    options.batch = options.batch or BATCHES.get(options.model, 32)
    # Set before torch is imported, also by unet.py: its libraries read the environment when they are loaded.
    os.environ["CUDNN_FRONTEND_LOG_INFO"] = "1"
    os.environ["CUDNN_FRONTEND_LOG_FILE"] = str(options.output / "frontend.log")
    import torch

    on_gpu = options.device.startswith("cuda")
    if on_gpu:
        select_gpu(torch, options.device)
    torch.manual_seed(SEED)
    torch.backends.cudnn.benchmark = options.benchmark
    if options.dtype == "tf32":
        torch.backends.cuda.matmul.allow_tf32 = True
    options.type = {"f16": torch.float16, "bf16": torch.bfloat16}.get(options.dtype, torch.float32)
    options.format = torch.channels_last if options.layout == "nhwc" else torch.contiguous_format
    network, loss = build(torch, options)
    wait = torch.cuda.synchronize if on_gpu else lambda: None
    for _ in range(3):
        run_step(network, loss)
    wait()
    activities = [torch.profiler.ProfilerActivity.CPU]
    if on_gpu:
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        for _ in range(options.steps):
            run_step(network, loss)
        wait()
    profile.export_chrome_trace(str(options.output / "trace.json"))
    facts = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version() or 0, "steps": options.steps,
             "batch": options.batch}
    (options.output / "facts.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    main()
