import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Effect } from '@retake/tape/guards'
import { guard } from '../guard.js'
import type { Policy } from './policy.js'
import { presets } from './presets.js'

/** A call that an agent makes on an ordinary day: nothing in its arguments is a reason to refuse it. */
type Call = readonly [tool: string, args: unknown, effects?: readonly Effect[]]

const CALLS: readonly Call[] = [
  // Names that sound like hosts.
  ['fetch_page', { url: 'https://api.example.com/' }],
  ['fetch_page', { url: 'https://api.example.com/a?next=https://other.test/' }],
  ['fetch_page', { uri: 'https://API.example.com:443/x', endpoint: '/v1/orders' }],
  ['save_bookmark', { url: 'https://other.test/article', title: 'An article' }],
  ['save_bookmark', { url: 'https://other.test:8443/', tags: ['later', 'web'] }],
  ['shorten', { url: 'https://very.long.test/path?with=query#and-hash' }],
  ['add_image', { image_url: null, alt: 'none' }],
  ['add_image', { image_url: 'https://cdn.other.test/cat.png', alt: 'A cat' }],
  ['add_source', { source: 'https://en.wikipedia.org/wiki/Loopback' }],
  ['set_callback', { callbackUrl: 'https://hooks.other.test/abc' }],
  ['find_host', { host: 'db-primary' }],
  ['find_host', { hostname: 'web-01.internal' }],
  ['find_host', { host: 'localhost' }],
  ['register_server', { server: 'blue', domain: 'example.org' }],
  ['register_server', { origin: 'Berlin', destination: 'Paris' }],
  ['set_server', { server: { name: 'green', endpoint: 'primary' } }],
  ['whois', { domain: 'other.test' }],
  // Addresses of people and of machines.
  ['find_customer', { address: '12 Main Street' }],
  ['find_customer', { address: { street: 'Main', zip: '90210', city: 'Springfield' } }],
  ['ship', { shipping_address: '12 Main Street, 90210 Springfield' }],
  ['ship', { shipping_address: 'Springfield', billing_address: 'Shelbyville' }],
  ['ship', { zip: '90210' }],
  ['ship', { zip: 10115, trip: 'A1', ship: 'Nordstar' }],
  ['ship', { zip: '10.115' }],
  ['send_email', { address: 'somebody@example.org', subject: 'Hello' }],
  ['send_email', { to: ['a@example.org', 'b@other.test'], cc: [], body: 'Hi\n\nBye' }],
  ['send_email', { to: 'Somebody <somebody@other.test>' }],
  ['log_visit', { ip: '203.0.113.7' }],
  ['log_visit', { ip: '192.168.1.10', path: '/cart' }],
  ['log_visit', { ip: '::1' }],
  ['log_visit', { client_ip: '10.0.0.5', port: 8080 }],
  ['log_visit', { text: 'Login from 10.0.0.5 at 12:30' }],
  ['log_visit', { seen: '127.0.0.1:8080' }],
  ['add_device', { mac: '00:1b:44:11:3a:b7', network: '10.0.0.0/8' }],
  // Names that end like `ip`.
  ['list_orders', { limit: 10, skip: 20 }],
  ['list_orders', { skip: '20', sort: 'asc' }],
  ['list_orders', { vip: true, tip: 'none', membership: 'gold' }],
  ['list_orders', { relationship: 'parent', clip: 'intro' }],
  ['unpack', { zip: 'photos.zip' }],
  ['book', { trip: 'berlin-paris', seats: [1, 2] }],
  // Text that holds an address, or looks like one.
  ['write_note', { title: 'https://other.test/' }],
  ['write_note', { title: 'https://other.test/\nhttps://third.test/' }],
  ['write_note', { text: 'See http://127.0.0.1:8080 and http://169.254.169.254/ for more.' }],
  ['write_note', { text: 'Our server runs on localhost:3000.' }],
  ['write_note', { text: 'localhost' }],
  ['write_note', { text: 'a::b' }],
  ['write_note', { text: 'std::vector' }],
  ['write_note', { text: 'metadata' }],
  ['write_note', { text: 'metadata.google.internal' }],
  ['write_note', { text: 's3://metadata/key', link: 'app://localhost/settings' }],
  ['write_note', { text: 'ftp://ftp.other.test/pub' }],
  ['write_note', { text: 'mailto:somebody@other.test', phone: 'tel:+4930123456' }],
  ['write_note', { text: 'key: value' }],
  ['write_note', { text: '10:30', ratio: '16:9', version: '127.1' }],
  ['write_note', { text: 'node:fs' }],
  ['write_note', { text: 'nginx:1.27', image: 'registry.test:5000/app' }],
  ['write_note', { text: '// a comment' }],
  ['write_note', { text: '//TODO' }],
  ['render', { html: '<a href="http://127.0.0.1/">here</a>' }],
  ['render', { html: '<img src="https://other.test/x.png">' }],
  ['render', { markdown: '# Title\n\n[a link](https://other.test/) and `../code`' }],
  ['render', { markdown: '[here](../../etc/passwd)' }],
  ['render', { json: '{"url":"http://10.0.0.1/","path":"../../x"}' }],
  ['render', { csv: 'ip,host\n10.0.0.1,a.test\n10.0.0.2,b.test' }],
  ['render', { yaml: 'host: localhost\nport: 5432\n' }],
  ['run_query', { sql: "select * from visits where ip = '10.0.0.1'" }],
  ['run_query', { regex: '^https?://', flags: 'i' }],
  ['set_headers', { 'content-type': 'text/html', host: 'api.example.com' }],
  ['set_headers', { origin: 'https://other.test', referer: 'https://other.test/x' }],
  // Keys are also data.
  ['count', { 'https://other.test/': 3, localhost: 1, '10.0.0.1': 7 }],
  ['count', { url: 1, host: 2, ip: 3, address: 4, zip: 5, skip: 6, server: 7, endpoint: 8 }],
  // Files.
  ['read_file', { path: 'notes.md' }],
  ['read_file', { path: './notes.md' }],
  ['read_file', { file: 'sub/not-there-yet.txt' }],
  ['read_file', { file: 'main.py:12' }],
  ['read_file', { name: 'report (final).v2.docx' }],
  ['read_file', { name: '.env.example' }],
  ['list_routes', { route: '/api/users/42', method: 'GET' }],
  ['list_routes', { route: '/' }],
  ['list_files', { pattern: '**/*.ts' }],
  ['list_files', { extension: '.md', exclude: 'node_modules' }],
  // Tools that say that they touch neither files nor network get any text.
  ['classify', { text: 'http://localhost:3000/' }, []],
  ['classify', { text: 'http://169.254.169.254/latest' }, ['spend']],
  ['classify', { text: '~/notes.md' }, []],
  ['classify', { text: '..' }, []],
  ['classify', { text: '/dev/null' }, []],
  ['classify', { text: 'C:\\Users\\somebody\\report.docx' }, []],
  ['classify', { text: '/etc/hosts' }, ['spend']],
  ['remember', { link: 'http://localhost:3000/' }, ['read', 'write']],
]

let folder: string
let root: string
beforeAll(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'retake-ordinary-')))
  root = path.join(folder, 'root')
  mkdirSync(root)
  writeFileSync(path.join(root, 'notes.md'), 'notes')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const POLICIES: readonly (readonly [string, () => Policy])[] = [
  ['presets.sandbox()', () => presets.sandbox({ root })],
  ['a sandbox with hosts', () => presets.sandbox({ root, hosts: ['api.example.com'] })],
  ['presets.network()', () => presets.network({ allow: ['api.example.com'] })],
  ['a network scope without hosts', () => ({ name: 'closed', network: { allow: [] } })],
]

const NAMED = CALLS.map(([tool, args, effects]) => ({
  name: `${tool}(${JSON.stringify(args)})`,
  tool,
  args,
  effects,
}))

describe.each(POLICIES)('under %s', (_, policy) => {
  test.each(NAMED)('$name is allowed', async ({ tool, args, effects }) => {
    const run = guard({
      name: 'ordinary',
      policy: policy(),
      dir: path.join(folder, 'tapes'),
      durability: 'process',
    })
    run.tool(tool, (given) => given, effects && { effects })
    const { status, error, output } = await run.call(tool, args)
    run.end()
    expect(status, String(error)).toBe('done')
    expect(output).toEqual(args)
  })
})

test('there are at least sixty ordinary calls', () => {
  expect(CALLS.length).toBeGreaterThanOrEqual(60)
})
