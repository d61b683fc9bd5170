"""A download over QUIC, both ends by aioquic with its defaults.

serve PORT             sends as many bytes as the eight that a stream begins with state
get HOST PORT SECONDS  downloads for that long; prints how much came in how long, as JSON
"""

import asyncio
import datetime
import json
import ssl
import sys
import time

from aioquic.asyncio.client import connect
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ALPN = ["download"]
# the server holds all that has not been acknowledged; a download that comes to its end before its time ends there
BYTES_PER_SECOND = 12_500_000


def certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now - day, now + day
    )
    return builder.sign(key, hashes.SHA256()), key


async def answer(reader, writer):
    size = int.from_bytes(await reader.readexactly(8), "big")
    writer.write(bytes(size))
    writer.write_eof()


def accept(reader, writer):
    task = asyncio.ensure_future(answer(reader, writer))
    tasks.add(task)
    task.add_done_callback(tasks.discard)


# a task that nothing refers to may be collected
tasks = set()


async def server(port):
    configuration = QuicConfiguration(is_client=False, alpn_protocols=ALPN)
    configuration.certificate, configuration.private_key = certificate()
    await serve("0.0.0.0", port, configuration=configuration, stream_handler=accept)
    print("listening", flush=True)
    await asyncio.Event().wait()


async def client(host, port, seconds):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=ALPN)
    configuration.verify_mode = ssl.CERT_NONE
    async with connect(host, port, configuration=configuration) as connection:
        reader, writer = await connection.create_stream()
        began = time.monotonic()
        end = began + seconds
        writer.write((seconds * BYTES_PER_SECOND).to_bytes(8, "big"))
        received = 0
        while (left := end - time.monotonic()) > 0:
            try:
                data = await asyncio.wait_for(reader.read(1 << 20), left)
            except asyncio.TimeoutError:
                break
            if not data:
                break
            received += len(data)
        took = time.monotonic() - began
        print(json.dumps({"bytes": received, "seconds": took}))


if sys.argv[1] == "serve":
    asyncio.run(server(int(sys.argv[2])))
else:
    asyncio.run(client(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
