"""Packages that reach other programs and their files: socket, ltn12, mime, base64, lmdb."""

import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.commands import run_lua


class _Answers(http.server.BaseHTTPRequestHandler):
    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        code = 404 if self.path == "/nothing" else 200
        said = f"{self.command} {self.path} ".encode() + body
        self.send_response(code)
        self.send_header("X-Kind", self.headers.get("x-kind", "none"))
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = do_PUT = _answer

    def log_message(self, *given: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made.server_address[1]
        made.shutdown()


def test_a_server_that_does_not_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        run_lua(
            tmp_path,
            """
            local http = require 'socket.http'
            http.TIMEOUT = 0.05
            local nothing, problem = http.request('http://127.0.0.1:' .. arg[1])
            assert(nothing == nil and problem == 'timeout', problem)
            """,
            str(silent.getsockname()[1]),
        )


def test_requests(tmp_path: Path, server: int) -> None:
    run_lua(
        tmp_path,
        """
        local http, ltn12 = require 'socket.http', require 'ltn12'
        local place = 'http://127.0.0.1:' .. arg[1]
        local body, code, headers, status = http.request(place .. '/a?b=1')
        assert(body == 'GET /a?b=1 ' and code == 200 and headers['x-kind'] == 'none')
        assert(status:find('^HTTP/1.%d 200'))
        assert(http.request(place .. '/post', 'some=text') == 'POST /post some=text')
        local pieces = {}
        local one, number = http.request{ url = place .. '/put', method = 'PUT',
           headers = { ['X-Kind'] = 'mine', ['content-length'] = 4 },
           source = ltn12.source.string('\\0\\1\\255z'), sink = ltn12.sink.table(pieces) }
        assert(one == 1 and number == 200 and table.concat(pieces) == 'PUT /put \\0\\1\\255z')
        body, code = http.request(place .. '/nothing')
        assert(body == 'GET /nothing ' and code == 404)
        local nothing, problem = http.request('http://127.0.0.1:1/')
        assert(nothing == nil and problem == 'connection refused')
        assert(select(2, http.request('file:///etc/passwd')):find('unknown scheme'))
        """,
        str(server),
    )


def test_connections_over_tcp(tmp_path: Path, server: int) -> None:
    run_lua(
        tmp_path,
        """
        local socket = require 'socket'
        local c = assert(socket.connect('127.0.0.1', arg[1]))
        assert(c:send('GET /x HTTP/1.0\\r\\n\\r\\n') == 19)
        assert(c:receive() == 'HTTP/1.0 200 OK')
        repeat local line = c:receive('*l') until line == ''
        assert(c:receive(4) == 'GET ' and c:receive('*a', 'then ') == 'then /x ')
        local nothing, problem, part = c:receive()
        assert(nothing == nil and problem == 'closed' and part == '')
        assert(c:close() == 1 and select(2, c:send('x')) == 'closed')

        -- both ends within the script
        local listening = assert(socket.bind('127.0.0.1', 0))
        local host, port = listening:getsockname()
        local client = socket.tcp()
        assert(client:settimeout(5) == 1 and client:connect(host, port) == 1)
        local taken = assert(listening:accept())
        assert(#socket.select({ taken }, nil, 0) == 0)
        client:send('one\\ntwo\\nrest')
        local ready = socket.select({ taken }, { taken }, 5)
        assert(ready[1] == taken and ready[taken])
        assert(taken:receive() == 'one' and socket.select({ taken }, nil, 0)[1] == taken)
        assert(taken:receive() == 'two')
        taken:settimeout(0)
        nothing, problem, part = taken:receive(10)
        assert(nothing == nil and problem == 'timeout' and part == 'rest')
        client:shutdown('send')
        taken:settimeout(5)
        assert(taken:receive('*a') == '')
        assert(select(2, socket.connect('127.0.0.1', 1)) == 'connection refused')
        assert(socket.gettime() > 1e9 and select(3, socket.select(nil, nil, 0)) == 'timeout')
        socket.sleep(0)
        assert(#socket.dns.gethostname() > 0 and socket.dns.toip('127.0.0.1') == '127.0.0.1')
        local try = socket.newtry(function() client:close() end)
        local f = socket.protect(function() try(nil, 'refused') end)
        nothing, problem = f()
        assert(nothing == nil and problem == 'refused' and client.number == nil)
        assert(not pcall(socket.protect(function() error('mine') end)))
        taken:close()
        listening:close()
        """,
        str(server),
    )


def test_sources_sinks_and_encodings(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local ltn12, mime = require 'ltn12', require 'mime'
        local base64, url = require 'base64', require 'socket.url'
        local texts = { [''] = '', f = 'Zg==', fo = 'Zm8=', foo = 'Zm9v', ['\\0\\255\\1\\2'] = 'AP8BAg==' }
        for text, coded in pairs(texts) do
           assert(base64.encode(text) == coded and base64.decode(coded) == text and mime.b64(text) == coded)
           assert(mime.unb64(coded) == text)
        end
        assert(base64.decode('Zm 9\\nv') == 'foo')
        local long = ('0123456789'):rep(1000)
        local sink, pieces = ltn12.sink.table()
        local from = ltn12.source.chain(ltn12.source.string(long), mime.encode('base64'), mime.wrap('base64'))
        assert(ltn12.pump.all(from, sink))
        local coded = table.concat(pieces)
        assert(#coded:match('^[^\\r]*') == 76 and base64.decode(coded) == long)
        local path = arg[1] .. '/out'
        local back = ltn12.sink.chain(mime.decode('base64'), ltn12.sink.file(io.open(path, 'wb')))
        assert(ltn12.pump.all(ltn12.source.string(coded), back))
        local all = ltn12.source.cat(ltn12.source.file(io.open(path, 'rb')), ltn12.source.string('!'))
        sink, pieces = ltn12.sink.table()
        assert(ltn12.pump.all(all, sink) and table.concat(pieces) == long .. '!')
        local ok, problem = ltn12.pump.all(ltn12.source.file(nil, 'no file'), ltn12.sink.null())
        assert(ok == nil and problem == 'no file')
        assert(url.escape('a b/c') == 'a%20b%2fc' and url.unescape('a%20b%2fc') == 'a b/c')
        local parsed = url.parse('http://me:pw@host:81/p/q?x=1#there')
        assert(parsed.host == 'host' and parsed.port == '81' and parsed.user == 'me')
        assert(parsed.path == '/p/q' and parsed.query == 'x=1')
        assert(parsed.fragment == 'there' and parsed.password == 'pw')
        """,
        str(tmp_path),
    )


def test_a_database_reads_no_further_than_a_string(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'lmdb'
        local text = lmdb.serialize({ 1, 'b' })
        assert(lmdb.deserialize(text, 2 ^ 40)[2] == 'b')
        assert(lmdb.deserialize('abc', 2 ^ 40, true):nElement() == 3)
        assert(lmdb.from_MDB_val({ [0] = { mv_data = 'abc', mv_size = 2 ^ 40 } }, true) == 'abc')
        for _, data in ipairs{ 3, {}, torch.CharTensor(3), true } do
           local ok, problem = pcall(lmdb.deserialize, data, 3)
           assert(not ok and problem:find('a string or a pointer expected, got ', 1, true), problem)
        end
        """,
    )


def test_databases(tmp_path: Path) -> None:
    """The examples of lmdb.torch, and LSUN's reader of dcgan.torch, which reaches below its classes."""
    run_lua(
        tmp_path,
        """
        require 'lmdb'
        local ffi = require 'ffi'
        local printed = {}
        function print(...) printed[#printed + 1] = table.concat({ ... }, ' ') end
        local folder = arg[1] .. '/db'
        local db = lmdb.env{ Path = folder, Name = 'testDB', MapSize = 2 ^ 24 }
        db:open()
        assert(db:stat().entries == 0)
        local txn = db:txn()
        local x = torch.rand(20, 5)
        for i = 1, 20 do assert(txn:put(i, x[i]) == lmdb.C.MDB_SUCCESS) end
        txn:put('table', { a = 'b' })
        assert(txn:put('table', 1, lmdb.C.MDB_NOOVERWRITE) == lmdb.C.MDB_KEYEXIST)
        assert(printed[1]:find('mdb_put') and printed[1]:find('already exists'))
        txn:commit()
        local reader = db:txn(true)
        for i = 1, 20 do assert(reader:get(i):equal(x[i])) end
        assert(reader:get('table').a == 'b' and torch.type(reader:get(3, true)) == 'torch.ByteTensor')
        assert(reader:get('nothing') == nil and printed[2]:find('No matching key/data pair found'))
        local function get(self, key)
           self.mdb_key = lmdb.MDB_val(self.mdb_key, key, true)
           self.mdb_data = self.mdb_data or ffi.new('MDB_val[1]')
           if lmdb.errcheck('mdb_get', self.mdb_txn[0], self.mdb_dbi[0], self.mdb_key, self.mdb_data)
              == lmdb.C.MDB_NOTFOUND then return nil end
           return lmdb.from_MDB_val(self.mdb_data, false, false)
        end
        assert(get(reader, '7'):equal(x[7]) and get(reader, 'x') == nil)

        local cursor, keys = reader:cursor(), {}
        repeat
           local key, value = cursor:get()
           keys[#keys + 1] = key
        until not cursor:next()
        assert(#keys == 21 and keys[1] == '1' and keys[2] == '10' and keys[21] == 'table')
        assert(cursor:set('5') and cursor:getData():equal(x[5]) and cursor:prev() and (cursor:get()) == '4')
        assert(not cursor:set('no') and cursor:last() and (cursor:get()) == 'table')
        cursor:close()
        local writer = db:txn()
        cursor = writer:cursor()
        cursor:first()
        assert(cursor:del() == 0 and cursor:put('new', 5) == 0)
        writer:commit()
        assert(reader:get('1') ~= nil) -- as it was when the reader began
        reader:reset()
        reader:renew()
        assert(reader:get('1') == nil and reader:get('new') == 5)
        reader:abort()
        local gone = db:txn()
        gone:put('gone', 1)
        gone:abort()
        assert(db:stat().entries == 21 and db:reader_check() == 0)
        db:close()

        local file = lmdb.env{ Path = arg[1] .. '/one', NOSUBDIR = true, NOLOCK = true, MapSize = 2 ^ 20 }
        file:open()
        file:close()
        for _, bad in ipairs{ {}, { Path = 3 }, { Path = 'x', Colour = 1 } } do
           assert(not pcall(lmdb.env, bad))
        end
        local ok, problem = pcall(function() lmdb.env{ Path = arg[1] .. '/none', RDONLY = true }:open() end)
        assert(not ok and problem:find('No such file'))
        """,
        str(tmp_path),
    )
