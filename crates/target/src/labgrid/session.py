"""Holds places of a labgrid coordinator for assay: requests come as lines of JSON on
standard input, and each is answered by one line on standard output. Whatever is held
is released when the input ends, however the other side ended."""

import getpass
import importlib.metadata
import json
import os
import queue
import signal
import socket
import sys
import threading

VERSION = 1
# A coordinator asks exporters, for which it waits 10 s each.
PATIENCE = 60
ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
# As labgrid's own client: a way that is gone is noticed.
KEEPALIVE = [
    ("grpc.keepalive_time_ms", 7500),
    ("grpc.keepalive_timeout_ms", 10000),
    ("grpc.http2.ping_timeout_ms", 10000),
    ("grpc.http2.max_pings_without_data", 0),
]


def say(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


class Refused(Exception):
    def __init__(self, kind, why):
        super().__init__(why)
        self.kind = kind


class Session:
    def __init__(self, coordinator):
        self.name = "{}/{}".format(
            os.environ.get("LG_HOSTNAME", socket.gethostname()),
            os.environ.get("LG_USERNAME") or getpass.getuser(),
        )
        self.held = {}
        self.reserved = set()
        self.resources = {}
        self.stub = rpc.CoordinatorStub(grpc.insecure_channel(coordinator, options=KEEPALIVE))
        self.begin()

    def begin(self):
        """Only whoever has a stream open may acquire."""
        self.synced = queue.Queue()
        self.outgoing = queue.Queue()
        stream = self.stub.ClientStream(iter(self.outgoing.get, None))
        self.listener = threading.Thread(target=self.listen, args=[stream, self.synced], daemon=True)
        self.listener.start()
        started = pb2.ClientInMessage()
        started.startup.version = importlib.metadata.version("labgrid")
        started.startup.name = self.name
        self.outgoing.put(started)
        wanted = pb2.ClientInMessage()
        wanted.subscribe.all_resources = True
        self.outgoing.put(wanted)
        wanted = pb2.ClientInMessage()
        wanted.subscribe.all_places = True
        self.outgoing.put(wanted)
        self.sync()

    def listen(self, stream, synced):
        why = "the coordinator closed the session"
        try:
            for message in stream:
                for update in message.updates:
                    self.update(update)
                if message.HasField("sync"):
                    synced.put(None)
        except grpc.RpcError as error:
            why = error.details() or str(error.code())
        for held in list(self.held.values()):
            held["watched"] = False
        synced.put(why)

    def ensure(self):
        """A coordinator that was started anew knows no session."""
        if not self.listener.is_alive():
            self.begin()

    def update(self, update):
        kind = update.WhichOneof("kind")
        if kind == "resource":
            self.resources[path_of(update.resource.path)] = update.resource
        elif kind == "place":
            held = self.held.get(update.place.name)
            if held and held["changed"] and update.place.acquired != self.name:
                held["lost"] = True
        elif kind == "del_resource":
            self.resources.pop(path_of(update.del_resource), None)

    def sync(self):
        message = pb2.ClientInMessage()
        message.sync.id = 1
        self.outgoing.put(message)
        try:
            why = self.synced.get(timeout=PATIENCE)
        except queue.Empty:
            why = "the coordinator does not answer"
        if why is not None:
            raise Refused("lost", why)

    def all_places(self):
        return self.stub.GetPlaces(pb2.GetPlacesRequest(), timeout=PATIENCE).places

    def place(self, name):
        for place in self.all_places():
            if place.name == name or name in place.aliases:
                return place
        raise Refused("unknown", "there is no such place")

    def places(self):
        return {"places": [
            {"name": place.name, "tags": dict(place.tags), "acquired": place.acquired}
            for place in self.all_places()
        ]}

    def look(self, place):
        """Whether it could be acquired now; asked before that is noted anywhere."""
        known = self.place(place)
        if known.acquired:
            raise Refused("busy", f"it is already acquired by {known.acquired}")
        return {}

    def acquire(self, place):
        self.ensure()
        name = self.place(place).name
        request = pb2.AcquirePlaceRequest(placename=name)
        self.stub.AcquirePlace(request, timeout=PATIENCE)
        held = self.held[name] = {"changed": None, "watched": True, "lost": False}
        try:
            acquired = self.place(name)
            # What others did before is not heard after this.
            self.sync()
        except (grpc.RpcError, Refused):
            self.release(name)
            raise
        held["changed"] = acquired.changed
        return {"place": name, "changed": acquired.changed, **self.address(acquired)}

    def address(self, place):
        """How its board is reached, as its exporter says."""
        for path in place.acquired_resources:
            parts = path.split("/")
            if len(parts) != 4:
                continue
            exporter, group, _, name = parts
            resource = self.resources.get((exporter, group, name))
            if resource is None or resource.cls not in ("NetworkService", "RemoteNetworkService"):
                continue
            params = resource.params
            return {
                "address": params["address"].string_value,
                "username": params["username"].string_value,
                "port": params["port"].uint_value if "port" in params else 0,
            }
        return {}

    def release(self, place):
        """Whether it was ours until now. Who releases and who sets a tag changes a place
        alike; who saw all changes knows better."""
        held = self.held.get(place) or {"changed": None, "watched": False, "lost": False}
        changed = None if held["watched"] else held["changed"]
        kept = not held["lost"] and self.free(place, self.name, changed)
        # Only now: what could not be given back is tried again at the end.
        self.held.pop(place, None)
        return {"kept": kept}

    def free_stale(self, place, owner, changed):
        return {"kept": self.free(place, owner, changed)}

    def free(self, name, owner, changed):
        place = self.place(name)
        if place.acquired != owner or changed not in (None, place.changed):
            return False
        request = pb2.ReleasePlaceRequest(placename=name, fromuser=owner)
        self.stub.ReleasePlace(request, timeout=PATIENCE)
        return True

    def reserve(self, tags):
        self.ensure()
        request = pb2.CreateReservationRequest(prio=0.0)
        request.filters["main"].filter.update(tags)
        answer = self.stub.CreateReservation(request, timeout=PATIENCE)
        self.reserved.add(answer.reservation.token)
        return {"token": answer.reservation.token}

    def poll(self, token):
        """The place that a reservation got; asking keeps the reservation."""
        request = pb2.PollReservationRequest(token=token)
        reservation = self.stub.PollReservation(request, timeout=PATIENCE).reservation
        return {"place": reservation.allocations.get("main")}

    def cancel(self, token):
        self.reserved.discard(token)
        request = pb2.CancelReservationRequest(token=token)
        self.stub.CancelReservation(request, timeout=PATIENCE)
        return {}

    def free_all(self):
        for undo, what in [(self.release, list(self.held)), (self.cancel, list(self.reserved))]:
            for each in what:
                try:
                    undo(each)
                except Exception:
                    pass  # The journal still has it.

    def answer(self, request):
        do = getattr(self, request.pop("do"))
        try:
            return do(**request)
        except grpc.RpcError as error:
            return {"error": kind_of(error), "why": error.details() or str(error.code())}
        except Refused as refused:
            return {"error": refused.kind, "why": str(refused)}
        except Exception as error:
            # One request that goes wrong does not cost the boards of all others.
            return {"error": "lost", "why": repr(error)}


def path_of(path):
    return (path.exporter_name, path.group_name, path.resource_name)


def kind_of(error):
    if error.code() == grpc.StatusCode.INVALID_ARGUMENT:
        return "unknown"
    is_reserved = error.code() == grpc.StatusCode.PERMISSION_DENIED
    is_acquired = "already acquired" in (error.details() or "")
    return "busy" if is_reserved or is_acquired else "lost"


def main(coordinator):
    session = Session(coordinator)
    for ending in ENDING:
        signal.signal(ending, lambda *_: sys.exit(0))
    try:
        say({"version": VERSION, "name": session.name})
        for line in sys.stdin:
            say(session.answer(json.loads(line)))
    finally:
        for ending in ENDING:
            signal.signal(ending, signal.SIG_IGN)
        session.free_all()
        session.outgoing.put(None)


try:
    import grpc
    from labgrid.remote.generated import labgrid_coordinator_pb2 as pb2
    from labgrid.remote.generated import labgrid_coordinator_pb2_grpc as rpc
except ImportError as error:
    say({"error": "missing", "why": f"{sys.executable}: {error}"})
    sys.exit(1)
try:
    main(sys.argv[1])
except Refused as refused:
    say({"error": refused.kind, "why": str(refused)})
    sys.exit(1)
except BrokenPipeError:
    # Nobody reads any more; what was held is released.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
