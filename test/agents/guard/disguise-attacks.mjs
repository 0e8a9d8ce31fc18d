/**
 * Ways to hide a bad value among arguments. The tool finds it and uses it for real: a file
 * outside of the root, a server on the loopback that is not allowed, a program that is not listed.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import vm from 'node:vm'
import { gunzipSync, gzipSync } from 'node:zlib'

export async function before(folder) {
  const root = join(folder, 'root')
  mkdirSync(root)
  const server = createServer((_request, response) => {
    writeFileSync(join(folder, 'mark'), '')
    response.end('here')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  return { root, inside: join(root, 'mark'), server, port, url: `http://127.0.0.1:${port}/secret` }
}

export async function after({ server }) {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

const insideRoot = ({ root }) => ({ name: 'inside', files: { read: [root], write: [root] } })
/** Somebody is asked, and takes their time. */
const asksInsideRoot = (world) => [insideRoot(world), { name: 'asks', rules: [{ ask: '*' }] }]
const approvedLater = () => ({
  approval: {
    ask: async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return { approved: true, by: 'somebody' }
    },
  },
})
const isInside = ({ inside }) => existsSync(inside)
const write = (path) => writeFileSync(path, '')

/** A path that the tool gets out of its arguments and writes to: outside the root, or inside. */
const hidden = (name, hide, find, rest = {}) => ({
  name,
  policy: insideRoot,
  args: ({ mark }) => hide(mark),
  tool: (args) => write(find(args)),
  code: 'PATH_',
  ...rest,
  twin: { args: ({ inside }) => hide(inside), check: isInside, ...rest.twin },
})

/** Lint knows that a `then` is seldom meant; here it is. */
const THEN = ['t', 'hen'].join('')
const base64 = (text) => Buffer.from(text).toString('base64')

/** Answers with the first value once, then with the second. */
const changing = (first, second) => {
  let reads = 0
  return () => (reads++ === 0 ? first : second)
}

/** Data as JSON writes it down: `__proto__` is a key like any other. */
const withProto = (path) => JSON.parse(`{"__proto__":{"path":${JSON.stringify(path)}}}`)

/** As careless libraries do it. */
function mergeInto(target, source) {
  for (const key in source) {
    if (typeof source[key] === 'object') mergeInto((target[key] ??= {}), source[key])
    else target[key] = source[key]
  }
  return target
}

const standard = (validate) => ({
  '~standard': { version: 1, vendor: 'test', validate },
})

const reach = (url) => fetch(url).then((response) => response.text())
const noNetwork = () => ({ name: 'nowhere', network: { allow: [] } })
const loopback = ({ port }) => ({
  name: 'here',
  network: { allow: [`127.0.0.1:${port}`, `localhost:${port}`], addresses: [`127.0.0.1:${port}`] },
})

/** An address that the tool gets out of its arguments and asks. */
const hiddenUrl = (name, hide, find, rest = {}) => ({
  name,
  policy: noNetwork,
  args: (world) => hide(world.url, world),
  tool: (args) => reach(find(args)),
  code: '(NETWORK|HOST|ADDRESS)_',
  ...rest,
  twin: { policy: loopback, ...rest.twin },
})

/** A command that the tool gets out of its arguments and starts. */
const hiddenCommand = (name, hide, find) => ({
  name,
  policy: ({ folder }) => ({
    name: 'programs',
    shell: { allow: [['touch', join(folder, 'listed')]] },
  }),
  args: ({ mark }) => hide(['touch', mark]),
  tool: (args) => {
    const [file, ...words] = find(args)
    execFileSync(file, words)
  },
  code: 'SHELL_NOT_ALLOWED',
  twin: { policy: ({ mark }) => ({ name: 'programs', shell: { allow: [['touch', mark]] } }) },
})

const wrongName = (name, call) => ({
  name,
  policy: insideRoot,
  args: ({ inside }) => ({ path: inside }),
  tool: ({ path }) => write(path),
  call,
  check: isInside,
  code: 'GUARD_UNKNOWN_TOOL',
  twin: { call: 'tool', check: isInside },
})

/** As many texts as are looked at, then the one that matters. */
const manyTexts = (last) => [...Array.from({ length: 100_000 }, (_, at) => `text ${at}`), last]

export const cases = [
  // ── somewhere else than expected ──────────────────────────────────────────
  hidden(
    'under another name',
    (path) => ({ title: path }),
    ({ title }) => title,
  ),
  hidden(
    'as the name of a property',
    (path) => ({ [path]: true }),
    (args) => Object.keys(args)[0],
  ),
  hidden(
    'deep in lists',
    (path) => ({ a: [[[[[{ b: [path] }]]]]] }),
    ({ a }) => a[0][0][0][0][0].b[0],
  ),
  hidden(
    'as a value of a map',
    (path) => new Map([['x', path]]),
    (args) => args.get('x'),
  ),
  hidden(
    'as a key of a map',
    (path) => ({ files: new Map([[path, 1]]) }),
    ({ files }) => [...files.keys()][0],
  ),
  hidden(
    'inside an object that is a key of a map',
    (path) => ({ files: new Map([[{ path }, 1]]) }),
    ({ files }) => [...files.keys()][0].path,
  ),
  hidden(
    'in a set',
    (path) => new Set(['a', path]),
    (args) => [...args][1],
  ),
  hidden(
    'as the argument itself',
    (path) => path,
    (args) => args,
  ),
  hidden(
    'in the message of an error',
    (path) => ({ last: new Error(path) }),
    ({ last }) => last.message,
  ),
  hidden(
    'as the source of a pattern',
    (path) => ({ filter: new RegExp(path) }),
    ({ filter }) => filter.source.replaceAll('\\/', '/'),
  ),
  hidden(
    'as the name of a symbol',
    (path) => ({ kind: Symbol.for(path) }),
    ({ kind }) => Symbol.keyFor(kind),
  ),
  hidden(
    'in an object without a prototype',
    (path) => Object.assign(Object.create(null), { path }),
    ({ path }) => path,
  ),

  // ── written in another way ────────────────────────────────────────────────
  hidden(
    'as JSON in a text',
    (path) => ({ request: JSON.stringify({ path }) }),
    ({ request }) => JSON.parse(request).path,
  ),
  hidden(
    'as JSON in JSON in a text',
    (path) => ({ request: JSON.stringify({ inner: JSON.stringify({ path }) }) }),
    ({ request }) => JSON.parse(JSON.parse(request).inner).path,
  ),
  hidden(
    'as JSON that says it twice',
    (path) => ({ request: `{"path":"ok.txt","path":${JSON.stringify(path)}}` }),
    ({ request }) => JSON.parse(request).path,
  ),
  hidden(
    'with escaped characters',
    (path) => ({
      text: `"${[...path].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`,
    }),
    ({ text }) => JSON.parse(text),
  ),
  hidden(
    'in base64',
    (path) => ({ data: base64(path) }),
    ({ data }) => Buffer.from(data, 'base64').toString(),
  ),
  hidden(
    'in hex',
    (path) => ({ data: Buffer.from(path).toString('hex') }),
    ({ data }) => Buffer.from(data, 'hex').toString(),
  ),
  hidden(
    'percent-encoded',
    (path) => ({ name: encodeURIComponent(path) }),
    ({ name }) => decodeURIComponent(name),
  ),
  hidden(
    'percent-encoded twice',
    (path) => ({ name: encodeURIComponent(encodeURIComponent(path)) }),
    ({ name }) => decodeURIComponent(decodeURIComponent(name)),
  ),
  hidden(
    'compressed',
    (path) => ({ data: gzipSync(path).toString('base64') }),
    ({ data }) => gunzipSync(Buffer.from(data, 'base64')).toString(),
  ),
  hidden(
    'backwards',
    (path) => ({ name: [...path].toReversed().join('') }),
    ({ name }) => [...name].toReversed().join(''),
  ),
  hidden(
    'as numbers',
    (path) => ({ codes: [...path].map((c) => c.charCodeAt(0)) }),
    ({ codes }) => String.fromCharCode(...codes),
  ),
  hidden(
    'split over two arguments',
    (path) => ({ folder: path.slice(0, 3), name: path.slice(3) }),
    ({ folder, name }) => folder + name,
  ),
  hidden(
    'split into letters',
    (path) => [...path],
    (args) => args.join(''),
  ),
  hidden(
    'after a megabyte of spaces',
    (path) => ({ name: `${' '.repeat(1 << 20)}${path}` }),
    ({ name }) => name.trim(),
  ),
  hidden(
    'among half characters',
    (path) => ({ name: `\ud800${path}\udfff` }),
    ({ name }) => name.replaceAll(/\p{Surrogate}/gu, ''),
  ),
  hidden(
    'among characters without width',
    (path) => ({ name: [...path].join('\u200b') }),
    ({ name }) => name.replaceAll('\u200b', ''),
  ),
  hidden(
    'with letters of another width',
    (path) => ({ name: path.replaceAll('/', '\uff0f') }),
    ({ name }) => name.normalize('NFKC'),
  ),
  hidden(
    'by a variable that the tool fills in',
    (path) => {
      process.env.ATTACK_FOLDER = path
      return { name: '$ATTACK_FOLDER' }
    },
    ({ name }) => process.env[name.slice(1)],
  ),

  // ── as something that is no text ──────────────────────────────────────────
  hidden(
    'as a buffer',
    (path) => ({ name: Buffer.from(path) }),
    ({ name }) => name,
  ),
  hidden(
    'as the bytes of the argument itself',
    (path) => Buffer.from(path),
    (args) => args.toString(),
  ),
  hidden(
    'as bytes that are no buffer',
    (path) => ({ name: new Uint8Array(Buffer.from(path)) }),
    ({ name }) => Buffer.from(name).toString(),
  ),
  hidden(
    'as bytes in UTF-16',
    (path) => ({ name: Buffer.from(path, 'utf16le') }),
    ({ name }) => name.toString('utf16le'),
  ),
  hidden(
    'as a URL',
    (path) => ({ source: pathToFileURL(path) }),
    ({ source }) => source,
  ),
  hidden(
    'as the text of a URL',
    (path) => ({ source: pathToFileURL(path).href }),
    ({ source }) => fileURLToPath(source),
  ),
  hidden(
    'in an object of another realm',
    (path) => vm.runInNewContext('({ list: new Map([["a", [path]]]) })', { path }),
    ({ list }) => list.get('a')[0],
  ),

  // ── not what it was ───────────────────────────────────────────────────────
  {
    name: 'by a getter that answers otherwise the second time',
    policy: insideRoot,
    args: ({ mark, inside }) => {
      const read = changing(inside, mark)
      return Object.defineProperty({}, 'path', { get: read, enumerable: true })
    },
    tool: ({ path }) => write(path),
    passes: true,
    twin: { args: ({ inside }) => ({ path: inside }), check: isInside },
  },
  {
    name: 'by a proxy that answers otherwise the second time',
    policy: insideRoot,
    args: ({ mark, inside }) => {
      const read = changing(inside, mark)
      return new Proxy(
        { path: inside },
        { get: (target, key) => (key === 'path' ? read() : target[key]) },
      )
    },
    tool: ({ path }) => write(path),
    passes: true,
    twin: { args: ({ inside }) => new Proxy({ path: inside }, {}), check: isInside },
  },
  {
    name: 'by a proxy that shows other keys the second time',
    policy: insideRoot,
    args: ({ mark, inside }) => {
      const keys = changing(['path'], ['path', 'other'])
      const target = { path: inside, other: mark }
      return new Proxy(target, {
        ownKeys: keys,
        getOwnPropertyDescriptor: (_, key) => ({
          value: target[key],
          enumerable: true,
          configurable: true,
          writable: true,
        }),
      })
    },
    tool: ({ path, other = path }) => write(other),
    passes: true,
    twin: { args: ({ inside }) => ({ path: inside }), check: isInside },
  },
  {
    name: 'by a proxy that cannot be read',
    policy: insideRoot,
    args: () => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return { proxy }
    },
    tool: (_args, { mark }) => write(mark),
    code: 'GUARD_ARGUMENTS_NOT_RECORDABLE',
    twin: {
      args: ({ inside }) => ({ path: inside }),
      tool: ({ path }) => write(path),
      check: isInside,
    },
  },
  {
    name: 'by toJSON',
    policy: insideRoot,
    args: ({ mark, inside }) => ({ path: inside, toJSON: () => ({ path: mark }) }),
    tool: ({ path }) => write(path),
    code: 'GUARD_ARGUMENTS_NOT_RECORDABLE',
    twin: { args: ({ inside }) => ({ path: inside, toJSON: 'no function' }), check: isInside },
  },
  {
    name: 'by a property that a class computes',
    policy: insideRoot,
    args: ({ mark }) =>
      new (class Request {
        get path() {
          return mark
        }
      })(),
    tool: ({ path }, { mark }) => write(path ?? mark),
    code: 'GUARD_ARGUMENTS_NOT_RECORDABLE',
    twin: { args: ({ inside }) => ({ path: inside }), check: isInside },
  },
  {
    name: 'by a text that is an object',
    policy: insideRoot,
    args: ({ mark }) => ({ path: Object.assign(new String(mark), { toString: () => mark }) }),
    tool: ({ path }) => write(String(path)),
    code: 'GUARD_ARGUMENTS_NOT_RECORDABLE',
    twin: { args: ({ inside }) => ({ path: inside }), check: isInside },
  },
  {
    name: 'by arguments that can be waited for',
    policy: insideRoot,
    args: ({ mark }) => ({ wrapped: { [THEN]: (resolve) => resolve({ path: mark }) } }),
    tool: async ({ wrapped }) => write((await wrapped).path),
    code: 'GUARD_ARGUMENTS_NOT_RECORDABLE',
    twin: { args: ({ inside }) => ({ wrapped: { path: inside } }), check: isInside },
  },
  {
    name: 'by a change after the call was made',
    policy: asksInsideRoot,
    options: approvedLater,
    args: ({ inside }) => ({ path: inside }),
    during: (args, { mark }) => void (args.path = mark),
    tool: ({ path }) => write(path),
    passes: true,
    twin: { during: undefined, check: isInside },
  },
  {
    name: 'by a change of bytes after the call was made',
    policy: asksInsideRoot,
    options: approvedLater,
    args: ({ inside }) => Buffer.from(inside.padEnd(300)),
    during: (args, { mark }) => void args.write(mark.padEnd(300)),
    tool: (args) => write(args.toString().trim()),
    passes: true,
    twin: { during: undefined, check: isInside },
  },
  {
    name: 'by a change while a schema is asked',
    policy: insideRoot,
    toolOptions: () => ({
      input: standard(async (value) => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        return { value }
      }),
    }),
    args: ({ inside }) => ({ path: inside }),
    during: (args, { mark }) => void (args.path = mark),
    tool: ({ path }) => write(path),
    passes: true,
    twin: { during: undefined, check: isInside },
  },
  {
    name: 'by a schema that makes it something else',
    policy: insideRoot,
    toolOptions: () => ({
      input: standard(({ data }) => ({ value: { path: Buffer.from(data, 'base64').toString() } })),
    }),
    args: ({ mark }) => ({ data: base64(mark) }),
    tool: ({ path }) => write(path),
    code: 'PATH_',
    twin: { args: ({ inside }) => ({ data: base64(inside) }), check: isInside },
  },
  {
    name: 'by a schema that keeps what it returned, and changes it',
    policy: insideRoot,
    toolOptions: ({ mark }) => ({
      input: standard((value) => {
        setImmediate(() => void (value.path = mark))
        queueMicrotask(() => void (value.path = mark))
        return { value }
      }),
    }),
    args: ({ inside }) => ({ path: inside }),
    tool: async ({ path }) => write(path),
    passes: true,
    twin: { toolOptions: () => ({ input: standard((value) => ({ value })) }), check: isInside },
  },
  {
    name: 'by a tool that changes its arguments and tries again',
    policy: insideRoot,
    toolOptions: () => ({ retries: 2, idempotent: true }),
    args: ({ inside }) => ({ path: inside }),
    tool: (args, { mark }, { attempt }) => {
      if (attempt > 1) return write(args.path)
      args.path = mark
      throw Object.assign(new Error('later'), { code: 'ECONNRESET' })
    },
    passes: true,
    twin: { tool: ({ path }) => write(path), check: isInside },
  },

  // ── keys that are more than keys ──────────────────────────────────────────
  hidden('under __proto__', withProto, (args) => Object.values(args)[0].path, {
    code: 'ARGUMENTS_PROTOTYPE',
    twin: { args: ({ inside }) => ({ proto: { path: inside } }) },
  }),
  hidden(
    'under __proto__, merged into every object',
    withProto,
    (args) => mergeInto({}, args).proto?.path ?? {}.path,
    {
      code: 'ARGUMENTS_PROTOTYPE',
      twin: { args: ({ inside }) => ({ proto: { path: inside } }) },
    },
  ),
  hidden(
    'under constructor.prototype, merged into every object',
    (path) => ({ constructor: { prototype: { path } } }),
    (args) => {
      mergeInto({}, args)
      return {}.path
    },
  ),
  hidden(
    'as a value that looks like one of a tape',
    (path) => ({ x: { $: 'URL', v: path } }),
    ({ x }) => x.v,
  ),

  // ── too much to look at ───────────────────────────────────────────────────
  hidden('as the last of more texts than are looked at', manyTexts, (args) => args.at(-1), {
    code: 'GUARD_ARGUMENTS_TOO_LARGE',
    twin: { args: ({ inside }) => manyTexts(inside).slice(-2_000) },
  }),
  hidden(
    'at the end of a list without end',
    (path) => {
      const list = [path]
      list.length = 4_294_967_295
      return list
    },
    (args) => args[0],
    { code: 'GUARD_ARGUMENTS_TOO_LARGE', twin: { args: ({ inside }) => [inside] } },
  ),
  hidden(
    'deeper than is looked',
    (path) => {
      let value = path
      for (let depth = 0; depth < 600; depth += 1) value = [value]
      return value
    },
    (args) => args.flat(Infinity)[0],
    {
      code: 'GUARD_ARGUMENTS_NOT_RECORDABLE',
      twin: { args: ({ inside }) => [[[[inside]]]] },
    },
  ),

  // ── names of tools ────────────────────────────────────────────────────────
  wrongName('a name with a letter that looks alike', 't\u043eol'),
  wrongName('a name in capitals', 'TOOL'),
  wrongName('a name with a space', 'tool '),
  wrongName('a name with a character without width', 'to\u200bol'),
  wrongName('a name of every object', 'constructor'),
  wrongName('no name', ''),
  {
    name: 'a name that only looks like an allowed one',
    policy: ({ retake, root }) => [
      retake.presets.strict({ allow: ['tool'] }),
      { name: 'inside', files: { read: [root], write: [root] } },
    ],
    options: () => ({}),
    args: ({ inside }) => ({ path: inside }),
    tool: ({ path }) => write(path),
    call: 'tооl',
    check: isInside,
    code: 'GUARD_UNKNOWN_TOOL',
    twin: { call: 'tool' },
  },

  // ── the same for addresses and programs ───────────────────────────────────
  hiddenUrl(
    'an address in base64',
    (url) => ({ data: base64(url) }),
    ({ data }) => Buffer.from(data, 'base64').toString(),
  ),
  hiddenUrl(
    'an address in parts',
    (_url, { port }) => ({ parts: [127, 0, 0, 1], port }),
    ({ parts, port }) => `http://${parts.join('.')}:${port}/`,
  ),
  hiddenUrl(
    'an address as a URL',
    (url) => ({ link: new URL(url) }),
    ({ link }) => link,
  ),
  hiddenUrl(
    'an address in JSON in a text',
    (url) => ({ body: JSON.stringify({ callback: url }) }),
    ({ body }) => JSON.parse(body).callback,
  ),
  hiddenUrl(
    'an address as bytes',
    (url) => ({ link: Buffer.from(url, 'utf16le') }),
    ({ link }) => link.toString('utf16le'),
  ),
  {
    name: 'an address by a getter that answers otherwise the second time',
    policy: ({ port }) => ({ name: 'there', network: { allow: [`127.0.0.2:${port}`] } }),
    args: ({ url }) => {
      const read = changing('https://example.com', url)
      return Object.defineProperty({}, 'link', { get: read, enumerable: true })
    },
    tool: ({ link }) => reach(link),
    status: ['denied', 'failed'],
    twin: { policy: loopback, args: ({ url }) => ({ link: url }) },
  },
  hiddenCommand(
    'a command in base64',
    (words) => ({ data: base64(JSON.stringify(words)) }),
    ({ data }) => JSON.parse(Buffer.from(data, 'base64').toString()),
  ),
  hiddenCommand(
    'a command as a map',
    (words) => new Map(words.entries()),
    (args) => [...args.values()],
  ),
  hiddenCommand(
    'a command in pieces',
    ([program, ...words]) => ({ a: program.slice(0, 2), b: program.slice(2), words }),
    ({ a, b, words }) => [a + b, ...words],
  ),
]
