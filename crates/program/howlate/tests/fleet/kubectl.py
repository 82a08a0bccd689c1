#!/usr/bin/env python3
"""A cluster of processes of this machine, as kubectl tells of one. Its folder is this program's own.

The name of a node says what is special: `down-` is not ready, `far-` finds no image but those of a registry, `full-` evicts,
`cut-` loses the beginning of each log, `rotated-` all but the last lines of a long one, `busy-` has no room. A Job gets a pod on each node in turn, and waits for more.
"""
import fcntl, json, os, signal, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
LABELS = ("app.kubernetes.io/part-of", "app.kubernetes.io/instance")


def fail(text):
    sys.exit(text)


def file(*names):
    return os.path.join(HERE, *names)


def load():
    try:
        return json.load(open(file("state.json")))
    except FileNotFoundError:
        return {"objects": [], "refuses": False}


def save(state):
    with open(file("state.json"), "w") as out:
        json.dump(state, out)


def nodes():
    return open(file("nodes")).read().split()


def start(pod, spec, plan):
    """Runs the container that measures, with its folders in that of the pod."""
    container = (spec.get("initContainers") or spec["containers"])[0]
    folder, node = file(pod["metadata"]["name"]), pod["spec"].get("nodeName", "")
    pod["measures"] = "initContainerStatuses" if "initContainers" in spec else "containerStatuses"
    kind, image = node.split("-")[0], container["image"]
    pod["waits"] = {"far": "" if "/" in image and not image.startswith("localhost") else "ImagePullBackOff",
                    "busy": "no room", "full": "Evicted"}.get(kind, "") if node else "no room"
    if pod["waits"]:
        return
    os.makedirs(os.path.join(folder, "work"))
    open(os.path.join(folder, "plan.toml"), "w").write(plan)
    places = {"/work": os.path.join(folder, "work"), "/plan/plan.toml": os.path.join(folder, "plan.toml"),
              "/dev/termination-log": os.path.join(folder, "report"), "$(NODE)": node}
    words = [places.get(word, word).replace("$$", "$") for word in container["args"]]
    with open(os.path.join(folder, "log"), "w") as log:
        child = subprocess.Popen([os.environ["HOWLATE"], *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 start_new_session=True)
    pod["pid"] = child.pid


def create(state):
    plan, owner = json.load(sys.stdin)["items"]
    state["objects"].append(plan)
    if state["refuses"]:
        save(state)
        fail("Error from server (Forbidden): " + state["refuses"])
    state["objects"].append(owner)
    template = owner["spec"]["template"]
    if owner["kind"] == "Job":
        assert owner["spec"]["completionMode"] == "Indexed"
        places = [(str(index), (nodes() + [None] * 99)[index]) for index in range(owner["spec"]["completions"])]
    else:
        terms = template["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        places = [(term["matchFields"][0]["values"][0],) * 2 for term in terms["nodeSelectorTerms"]]
    for place, node in places:
        pod = {"kind": "Pod", "spec": {"nodeName": node} if node else {}, "metadata": {
            "name": owner["metadata"]["name"] + "-" + place, "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": template["metadata"]["labels"], "annotations": {"batch.kubernetes.io/job-completion-index": place}}}
        start(pod, template["spec"], plan["data"]["plan.toml"])
        state["objects"].append(pod)


def runs(pod):
    try:
        return open(f"/proc/{pod['pid']}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except (KeyError, FileNotFoundError):
        return False


def status(pod):
    waits = pod["waits"]
    if waits == "no room":
        return {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}]}
    if waits == "Evicted":
        return {"phase": "Failed", "reason": waits, "message": "The node was low on resource: memory."}
    container = {"name": "measure", "state": {"running": {}}}
    if waits:
        container["state"] = {"waiting": {"reason": waits, "message": "Back-off pulling image"}}
    elif not runs(pod):
        try:
            said = open(file(pod["metadata"]["name"], "report")).read()
            container["state"] = {"terminated": {"exitCode": 0, "reason": "Completed", "message": said}}
        except FileNotFoundError:
            container["state"] = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    return {"phase": "Running", pod["measures"]: [container]}


def get(state, words):
    what, selector = words[0], dict(word.split("=", 1) for word in words[1:] if "=" in word and not word.startswith("-"))
    if what == "nodes":
        condition = lambda name: {"type": "Ready", "status": "False" if name.startswith("down") else "True", "message": "no kubelet"}
        found = [{"kind": "Node", "metadata": {"name": name}, "status": {"conditions": [condition(name)]}} for name in nodes()]
    elif what == "events":
        found = [{"kind": "Event", "metadata": {"creationTimestamp": at}, "involvedObject": {"name": one["metadata"]["name"]}, "message": why}
                 for one in state["objects"] if one.get("waits") == "no room" for at, why in (("T2", "no CPU left"), ("T1", "no memory left"))]
    else:
        found = [one for one in state["objects"] if matches(one, selector)]
        for one in found:
            if one["kind"] == "Pod":
                one["status"] = status(one)
    print(json.dumps({"kind": "List", "items": found}))


def matches(one, selector):
    return all(one["metadata"]["labels"].get(key) == value for key, value in selector.items())


def end(pod, how):
    if pod["kind"] == "Pod" and runs(pod):
        os.kill(pod["pid"], how)


def delete(state, words):
    if "--selector" in words:
        selector = dict([words[words.index("--selector") + 1].split("=", 1)])
        gone = [one for one in state["objects"] if matches(one, selector)]
    else:
        kind, name = words[0].split("/")
        gone = [one for one in state["objects"] if one["kind"].lower() == kind and one["metadata"]["name"] == name]
        assert kind == "pod" or "--cascade=orphan" in words, words
    for one in gone:
        end(one, signal.SIGKILL)
        state["objects"].remove(one)


def pod(state, name):
    found = [one for one in state["objects"] if one["kind"] == "Pod" and one["metadata"]["name"] == name]
    return found[0] if found else fail(f'Error from server (NotFound): pods "{name}" not found')


def logs(state, words):
    assert words[0] == "--container=measure" and words[1] == "--", words
    text = open(file(pod(state, words[2])["metadata"]["name"], "log")).read()
    kind = pod(state, words[2])["spec"]["nodeName"].split("-")[0]
    # More than a pipe holds: whoever stops reading is noticed.
    print({"cut": text[8:], "rotated": ("QUJD" * 2000 + "\n") * 100 + text}.get(kind, text), end="")


def main():
    words = sys.argv[1:]
    if words[0].startswith("--context="):
        context = words.pop(0).split("=", 1)[1]
        if context != "lab":
            fail(f'error: context "{context}" does not exist')
    with open(file("lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = load()
        verb, rest = words[0], words[1:]
        if verb == "create":
            create(state)
        elif verb == "get":
            get(state, [word for word in rest if word not in ("--selector", "--output=json")])
        elif verb == "delete":
            delete(state, rest)
        elif verb == "patch":
            assert json.loads(rest[2].split("=", 1)[1])["spec"]["activeDeadlineSeconds"] == 1
            end(pod(state, rest[0].split("/")[1]), signal.SIGTERM)
        elif verb == "logs":
            logs(state, rest)
        else:
            fail(f'error: unknown command "{verb}"')
        save(state)


main()
