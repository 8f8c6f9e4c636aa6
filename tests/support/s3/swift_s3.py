"""OpenStack Swift with its S3 interface, as one process for one test: Debian's python3-swift, unmodified.

usage: /usr/bin/python3 swift_s3.py <data folder> <access key> <secret key>

The account, container and object servers and the proxy with `s3api` listen on free ports of 127.0.0.1; the proxy's is
printed when all of them do. One replica on one device, nothing outside of the data folder, no other daemons. The folder
must be on a file system with extended attributes. It ends when its standard input does.
"""
import json
import os
import sys
import threading
from time import monotonic as now

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# The resolver of eventlet takes long to load, and there are no names to resolve.
os.environ['EVENTLET_NO_GREENDNS'] = 'yes'

ACCOUNT = 'AUTH_test'
BACKENDS = ('account', 'container', 'object')

BACKEND = """
[DEFAULT]
swift_dir = {etc}
devices = {data}/node
mount_check = false
disable_fallocate = true
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
log_level = ERROR
log_custom_handlers = swift_s3.log_to_stderr
log_address = /nonexistent
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
replication_server = false
# No updater runs, so a listing must be written before a put is answered.
container_update_timeout = 60
"""

PROXY = """
[DEFAULT]
swift_dir = {etc}
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
log_level = ERROR
log_custom_handlers = swift_s3.log_to_stderr
log_address = /nonexistent
[pipeline:main]
pipeline = catch_errors gatekeeper memory listing_formats s3api one_key bulk slo versioned_writes symlink proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
node_timeout = 60
# There is one replica: an error must not put it aside.
error_suppression_limit = 1000000000
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:memory]
paste.filter_factory = swift_s3:memory
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:one_key]
paste.filter_factory = swift_s3:one_key
access_key = {access_key}
secret_key = {secret_key}
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
[filter:versioned_writes]
use = egg:swift#versioned_writes
allow_object_versioning = true
[filter:symlink]
use = egg:swift#symlink
"""


class Memory:
    """What Swift keeps in memcached elsewhere. Without it, each request asks for its account and container several times."""

    def __init__(self):
        self.values = {}

    def get(self, key, **rest):
        value, until = self.values.get(key, (None, 0))
        return json.loads(value) if until > now() else None

    def set(self, key, value, time=0, **rest):
        self.values[key] = (json.dumps(value), now() + time)

    def delete(self, key, **rest):
        self.values.pop(key, None)


def memory(_, **rest):
    cache = Memory()

    def wrapped(app):
        def call(env, start_response):
            env['swift.cache'] = cache
            return app(env, start_response)
        return call
    return wrapped


class OneKey:
    """Lets in what is signed with the one pair of keys; everything belongs to one account."""

    def __init__(self, app, access_key, secret_key):
        self.app, self.access_key, self.secret_key = app, access_key, secret_key

    def __call__(self, env, start_response):
        from swift.common.swob import HTTPForbidden
        if env.get('swift.authorize_override'):  # the proxy asking itself
            return self.app(env, start_response)
        signed = env.get('s3api.auth_details')
        if not signed or signed['access_key'] != self.access_key or not signed['check_signature'](self.secret_key):
            return HTTPForbidden()(env, start_response)
        parts = env['PATH_INFO'].split('/', 3)  # '', version, account, rest
        if parts[2] == self.access_key:
            env['PATH_INFO'] = '/'.join(parts[:2] + [ACCOUNT] + parts[3:])
        env['REMOTE_USER'] = 'test,' + ACCOUNT
        env['swift_owner'] = True
        env['swift.authorize'] = lambda request: None
        return self.app(env, start_response)


def one_key(_, access_key, secret_key, **rest):
    return lambda app: OneKey(app, access_key, secret_key)


def log_to_stderr(conf, name, log_to_console, log_route, fmt, logger, adapted_logger):
    import logging
    if not getattr(logger, 'to_stderr', None):
        logger.to_stderr = logging.StreamHandler(sys.stderr)
        logger.addHandler(logger.to_stderr)


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)


def end_with_parent(read=os.read):
    """Standard input ends with the process that started this one, however that ended."""
    while read(0, 4096):
        pass
    os._exit(0)


def main():
    data, access_key, secret_key = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
    threading.Thread(target=end_with_parent, daemon=True).start()
    etc = os.path.join(data, 'etc')
    os.makedirs(etc, exist_ok=True)
    os.makedirs(os.path.join(data, 'node', 'disk'), exist_ok=True)
    write(os.path.join(etc, 'swift.conf'), '[swift-hash]\nswift_hash_path_suffix = test\n')

    import eventlet
    from eventlet import hubs
    from swift.common import utils
    utils.set_swift_dir(etc)
    from swift.common import wsgi
    from swift.common.ring import RingBuilder
    from swift.common.storage_policy import reload_storage_policies
    reload_storage_policies()
    utils.eventlet_monkey_patch()
    utils.disable_fallocate()

    sockets = {kind: eventlet.listen(('127.0.0.1', 0), backlog=1024) for kind in BACKENDS + ('proxy',)}
    ports = {kind: socket.getsockname()[1] for kind, socket in sockets.items()}
    for kind in BACKENDS:
        ring = RingBuilder(1, 1, 1)
        ring.add_dev({'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': ports[kind], 'device': 'disk', 'weight': 1.0})
        ring.rebalance()
        ring.get_ring().save(os.path.join(etc, kind + '.ring.gz'))
        write(os.path.join(etc, kind + '.conf'), BACKEND.format(kind=kind, etc=etc, data=data, port=ports[kind]))
    write(os.path.join(etc, 'proxy.conf'), PROXY.format(
        etc=etc, port=ports['proxy'], access_key=access_key, secret_key=secret_key))

    # Each server asks for its hub anew, which would drop the servers that are there already.
    use_hub = hubs.use_hub
    use_hub(utils.get_hub())
    hubs.use_hub = lambda module=None: hasattr(hubs._threadlocal, 'hub') or use_hub(module)

    def serve(kind):
        conf, logger, name = wsgi._initrp(os.path.join(etc, kind + '.conf'), kind + '-server')
        wsgi.run_server(conf, logger, sockets[kind], global_conf={'log_name': name})

    for kind in BACKENDS:
        eventlet.spawn(serve, kind)
    print(ports['proxy'], flush=True)
    serve('proxy')


if __name__ == '__main__':
    main()
