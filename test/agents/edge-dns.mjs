// Every way to ask for a name, against the server in the first argument.
import dns, { promises as dnsp } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { promisify } from 'node:util'

let line = 0
const log = (...words) =>
  console.log(line++, ...words.map((word) => JSON.stringify(word) ?? 'undefined'))
const explain = ({ constructor, name, code, errno, syscall, hostname, message }) =>
  [constructor.name, name, code, errno, syscall, hostname, message].join(' | ')
const fails = (promise) => promise.then(() => 'no error', explain)

log(
  'lookup',
  await lookup('localhost', { family: 4 }),
  await dnsp.lookup('localhost', { all: true }).then((all) => all.length > 0),
)
log(
  'lookup',
  await promisify(dns.lookup)('localhost', 4),
  await lookup('127.0.0.1'),
  await fails(lookup('nowhere.invalid')),
)
await new Promise((resolve) =>
  dns.lookup('localhost', 4, (...args) => resolve(log('callback', args))),
)
await new Promise((resolve) =>
  dns.lookup('localhost', { all: true, family: 4 }, (...args) => resolve(log('all', args))),
)
await new Promise((resolve) => dns.lookup('10.0.0.1', (...args) => resolve(log('literal', args))))
log(
  'service',
  await promisify(dns.lookupService)('127.0.0.1', 22).then(({ service }) => typeof service),
)
try {
  dns.reverse('localhost', () => {})
} catch (error) {
  log('thrown', explain(error))
}
log('rejected', await fails(dnsp.reverse('localhost')))
log('servers', dns.getServers().length > 0, dns.getServers().join() === dnsp.getServers().join())

const server = process.argv[2]
for (const [kind, Resolver] of Object.entries({ callback: dns.Resolver, promise: dnsp.Resolver })) {
  const resolver = new Resolver({ timeout: 2000, tries: 2 })
  resolver.setServers([server])
  const ask = (name, ...args) =>
    kind === 'promise' ? resolver[name](...args) : promisify(resolver[name].bind(resolver))(...args)
  log(kind, resolver.getServers().length)
  for (const name of [
    'resolve4',
    'resolve6',
    'resolveTxt',
    'resolveMx',
    'resolveSrv',
    'resolveNs',
    'resolveSoa',
  ]) {
    log(kind, name, await ask(name, 'name.example.test'))
  }
  log(kind, 'ttl', await ask('resolve4', 'name.example.test', { ttl: true }))
  log(
    kind,
    'resolve',
    await ask('resolve', 'name.example.test', 'AAAA'),
    await ask('resolve', 'name.example.test'),
  )
  log(kind, 'reverse', await ask('reverse', '10.1.2.3'))
  log(kind, 'missing', await fails(ask('resolve4', 'missing.invalid')))
  log(kind, 'no data', await fails(ask('resolveCaa', 'name.example.test')))
}
dns.setServers([server])
log(
  'default',
  await promisify(dns.resolve4)('name.example.test'),
  await dnsp.resolveTxt('name.example.test'),
)
await Promise.all(
  Array.from({ length: 12 }, async (_, index) => {
    const name = ['resolve4', 'resolve6', 'resolveMx'][index % 3]
    log('at once', index, await dnsp[name](`n${index}.example.test`))
    log('local', index, (await lookup('localhost', 4)).address)
  }),
)
