import { expect, test } from 'vitest'
import { checkPolicy } from './policy.js'
import { problemText } from '@retake/engine/schema'
import { presets } from './presets.js'

const problemsIn = (data: unknown): string[] => checkPolicy(data).map(problemText)
const rule = (data: unknown): string[] => problemsIn({ name: 'p', rules: [data] })
const when = (data: unknown): string[] => rule({ deny: 'x', when: { a: data } })

test('a valid policy has no problems', () => {
  expect(
    problemsIn({
      name: 'refunds',
      default: 'deny',
      rules: [
        {
          id: 'leak',
          deny: '*',
          effect: ['network', 'shell'],
          after: [{ tool: 'read_*', effect: 'read', when: { path: { endsWith: '.env' } } }],
          within: 10,
          because: 'Secrets stay here.',
          instead: 'Ask an operator.',
          code: 'SECRET_FLOW',
        },
        { ask: 'mail', tainted: { from: 'fetch', minLength: 20, in: ['to', '**.url'] } },
        { deny: 'search', moreThan: 20 },
        {
          allow: ['refund', 'pay'],
          when: {
            amount: { over: 0, atMost: 100 },
            'items.*.sku': { matches: '^[a-z]+-\\d+$', ignoreCase: true },
            note: { anyOf: [{ exists: false }, { shorterThan: 500 }] },
            kind: { not: { in: ['x'] }, type: ['string', 'null'] },
            flag: true,
            nothing: null,
          },
        },
      ],
      files: { read: ['.', '/srv/data'], write: [] },
      network: {
        allow: ['api.example.com', '*.example.com:8443', 'localhost:3000', '127.0.0.1', '[::1]:80'],
        addresses: ['127.0.0.1:5432', '10.1.0.0/16', '::1', '[fd00::1]:80', 'fd00::/8'],
        methods: ['GET'],
      },
      shell: { allow: [['git', 'log', '**'], ['ls']], env: ['LANG'] },
      limits: {
        calls: 10,
        costUsd: 0.5,
        breaker: { failures: 3, cooldownMs: 100 },
        tools: { search: { calls: 3 } },
      },
    }),
  ).toEqual([])
})

test.each(
  Object.entries({
    readOnly: presets.readOnly({ read: ['.'], hosts: ['a.example'], addresses: ['127.0.0.1:1'] }),
    sandbox: presets.sandbox({ root: '.', write: ['out'], programs: [['git', 'status']] }),
    network: presets.network({ allow: [], methods: ['GET'] }),
    noShell: presets.noShell({ except: [['ls']] }),
    strict: presets.strict(),
    listed: presets.strict({ allow: ['a', 'b_*'], ask: 'c' }),
  }),
)('%s is a policy that can be used', (_, policy) => {
  expect(problemsIn(policy)).toEqual([])
})

test.each<[unknown, string]>([
  [undefined, 'A policy must be an object, not undefined.'],
  [null, 'A policy must be an object, not null.'],
  [[], 'A policy must be an object, not a list.'],
  [
    'readOnly',
    'A policy must be an object, not the string "readOnly". Read a file with `await loadPolicy(file)`; presets are functions, such as `presets.readOnly()`.',
  ],
  [{}, 'It has no name; explanations say `name/rule`.'],
  [
    { name: 'p', presets: ['noShell'] },
    'Only a file has `presets`. In a program, list them beside it: `policy: [presets.noShell(), { … }]`.',
  ],
  [{ name: '' }, 'name: A name is empty.'],
  [{ name: 'a b' }, 'name: A name has no spaces and no slash.'],
  [{ name: 'p', ruels: [] }, 'ruels: Unknown key "ruels". Did you mean rules?'],
  [{ name: 'p', default: 'denny' }, 'default: It cannot be "denny". Did you mean deny?'],
  [{ name: 'p', rules: {} }, 'rules: It must be a list, not an object.'],
  [{ name: 'p', files: { read: '.' } }, 'files.read: "read" must be a list, not a string.'],
  [{ name: 'p', files: { reed: ['.'] } }, 'files.reed: Unknown key "reed". Did you mean read?'],
  [{ name: 'p', files: { read: [''] } }, 'files.read[0]: A folder is empty.'],
  [
    { name: 'p', network: { allow: ['https://a.example/x'] } },
    'network.allow[0]: "https://a.example/x" is an address with a scheme; write the host, such as a.example.',
  ],
  [
    { name: 'p', network: { allow: ['a.*.example'] } },
    'network.allow[0]: "a.*.example" is not a host such as api.example.com, *.example.com or example.com:8443.',
  ],
  [
    { name: 'p', network: { allow: ['a.example:99999'] } },
    'network.allow[0]: "a.example:99999" is not a host such as api.example.com, *.example.com or example.com:8443.',
  ],
  [
    { name: 'p', network: { addresses: ['10.0.0.0/40'] } },
    'network.addresses[0]: "10.0.0.0/40" is not an address such as 127.0.0.1:5432, 10.1.0.0/16, [::1]:8080 or unix:/run/db.sock. Names belong under allow.',
  ],
  [
    { name: 'p', network: { methods: ['GET /'] } },
    'network.methods[0]: "GET /" is not an HTTP method such as GET.',
  ],
  [
    { name: 'p', shell: { allow: ['git status'] } },
    'shell.allow[0]: Write the program and its arguments as a list: [git, status].',
  ],
  [
    { name: 'p', shell: { allow: [[]] } },
    'shell.allow[0]: It cannot be used: it names no program.',
  ],
  [
    { name: 'p', shell: { allow: [['a', '**', 'b']] } },
    'shell.allow[0]: It cannot be used: ** is not at the end.',
  ],
  [{ name: 'p', limits: { calls: -1 } }, 'limits.calls: It must be at least 0, not -1.'],
  [{ name: 'p', limits: { call: 1 } }, 'limits.call: Unknown key "call". Did you mean calls?'],
  [
    { name: 'p', limits: { tools: { x: { calls: 'many' } } } },
    'limits.tools.x.calls: It must be a number, not a string.',
  ],
])('%j: %s', (data, expected) => {
  expect(problemsIn(data)).toContain(expected)
})

test.each<[unknown, string]>([
  [{}, 'rules[0]: It decides nothing. List tools with allow, deny or ask.'],
  [{ allow: 'a', deny: 'b' }, 'rules[0]: It has both allow and deny. Write two rules.'],
  [{ deny: [] }, 'rules[0].deny: A tool: the list is empty.'],
  [{ deny: 5 }, 'rules[0].deny: A tool must be a string, not a number.'],
  [
    { deny: 'x', effect: 'netwrok' },
    'rules[0].effect: It cannot be "netwrok". Did you mean network?',
  ],
  [{ deny: 'x', wen: {} }, 'rules[0].wen: Unknown key "wen". Did you mean when?'],
  [{ deny: 'x', when: {} }, 'rules[0].when: It names no argument.'],
  [{ deny: 'x', when: { 'a..b': 1 } }, 'rules[0].when["a..b"]: "a..b" has an empty part.'],
  [
    { deny: 'x', moreThan: -1 },
    'rules[0].moreThan: It must be a whole number from 0 to 1000000000, not -1.',
  ],
  [
    { allow: 'x', moreThan: 1 },
    'rules[0].moreThan: It would allow a call only after many. Use deny or ask.',
  ],
  [{ deny: 'x', within: 3 }, 'rules[0].within: It needs `after` or `moreThan`.'],
  [{ deny: 'x', after: {} }, 'rules[0].after: It selects no calls. Use tool, effect or when.'],
  [{ deny: 'x', after: 'y' }, 'rules[0].after: An earlier call must be an object, not a string.'],
  [{ deny: 'x', tainted: {} }, 'rules[0].tainted: It does not name the untrusted tools. Use from.'],
  [
    { allow: 'x', tainted: 'y' },
    'rules[0].tainted: It would allow a call because of untrusted text. Use deny or ask.',
  ],
  [{ deny: 'x', code: 'too much' }, 'rules[0].code: A code is written like REFUND_TOO_HIGH.'],
  [{ deny: 'x', id: 'a/b' }, 'rules[0].id: An id has no spaces and no slash.'],
])('rule %j: %s', (data, expected) => {
  expect(rule(data)).toContain(expected)
})

test.each<[unknown, string]>([
  [{}, 'It has no condition.'],
  [
    ['a', 'b'],
    'It is a list; write { in: [...] } for one of them, { equals: [...] } for the list.',
  ],
  [{ grater: 5 }, 'Unknown key "grater". Known keys: equals'],
  [{ over: '5' }, 'It must be a number, not a string.'],
  [{ matches: '(' }, 'The regular expression cannot be used. Unterminated group.'],
  [{ matches: '(a)\\1' }, 'It refers back to a group'],
  [{ in: 'a' }, '"in" must be a list, not a string.'],
  [{ exists: 'yes' }, 'It must be true or false, not a string.'],
  [{ type: 'text' }, 'It cannot be "text".'],
  [{ not: { anyOf: [{ over: 'x' }] } }, 'It must be a number, not a string.'],
  [{ contains: '' }, 'It must be a string that is not empty, a number, or true or false.'],
])('predicate %j: %s', (data, expected) => {
  expect(when(data).join('\n')).toContain(expected)
})

test('an unreachable rule and duplicate ids are reported', () => {
  const rules = [
    { id: 'a', deny: ['read_*', 'x'] },
    { id: 'b', allow: 'read_file' },
    { id: 'b', allow: 'x', when: { a: 1 } },
    { allow: ['x', 'y'] },
    { deny: '*', effect: 'shell' },
    { deny: '*' },
    { allow: 'read*' },
  ]
  expect(problemsIn({ name: 'p', rules })).toEqual([
    'rules[2].id: Rule 2 has the same id "b".',
    'rules[1]: It is never reached: rule 1 decides every call of read_*, x.',
    'rules[2]: It is never reached: rule 1 decides every call of read_*, x.',
    'rules[6]: It is never reached: rule 6 decides every call of *.',
  ])
})

test('a file may name presets, which a program has as separate policies', () => {
  const [typed] = checkPolicy({ name: 'p', preset: [] }, { isFile: true })
  expect(typed?.message).toBe('Unknown key "preset". Did you mean presets?')
  const [named] = checkPolicy('noShell', { isFile: true })
  expect(named?.message).toMatch(
    /not the string "noShell"\. A file names presets under `presets`\.$/,
  )
})

test('a policy that contains itself is refused; one that contains another twice is not', () => {
  const not: { not?: unknown } = {}
  not.not = not
  expect(problemsIn({ name: 'p', rules: [{ deny: 'x', when: { a: not } }] })).toEqual([
    'rules[0].when.a.not: It contains itself.',
  ])
  const when = { a: { over: 1 } }
  expect(
    problemsIn({
      name: 'p',
      rules: [
        { deny: 'x', when },
        { deny: 'y', when },
      ],
    }),
  ).toEqual([])
})

test('problems say where they are, and whether the key itself is one', () => {
  expect(checkPolicy({ name: 'p', rules: [{ deny: 'x', when: { a: { ovr: 1 } } }] })).toEqual([
    {
      path: ['rules', 0, 'when', 'a', 'ovr'],
      message: 'Unknown key "ovr". Did you mean over?',
      isKey: true,
    },
  ])
})

test('a rule about a tool that does not exist is a problem, if all tools are known', () => {
  const rules = [
    { deny: ['pay', 'payy', 'send_*'] },
    { ask: 'refund', after: { tool: 'read_secret' } },
    { deny: '*', tainted: { from: ['web_*', 'mail'] } },
    { deny: '*', tainted: 'fetch_page' },
  ]
  const data = { name: 'shop', rules }
  expect(checkPolicy(data)).toEqual([])
  const all = ['pay', 'payy', 'send_mail', 'refund', 'read_secret', 'web_search', 'mail']
  expect(checkPolicy(data, { tools: [...all, 'fetch_page'] })).toEqual([])
  expect(checkPolicy(data, { tools: ['pay', 'refund', 'web_search'] }).map(problemText)).toEqual([
    'rules[0].deny[1]: There is no tool "payy". Is it "pay"?',
    'rules[0].deny[2]: There is no tool "send_*".',
    'rules[1].after.tool: There is no tool "read_secret".',
    'rules[2].tainted.from[1]: There is no tool "mail".',
    'rules[3].tainted: There is no tool "fetch_page".',
  ])
})

test.each([
  ['pa\u200by', 'rules[0].deny: "pa\\u{200b}y" has an invisible character.'],
  ['p\u0430y', 'rules[0].deny: "p\\u{430}y" mixes letters of alphabets that look alike.'],
])('the name %j of a tool is a problem', (name, problem) => {
  expect(checkPolicy({ name: 'p', rules: [{ deny: name }] }).map(problemText)).toEqual([problem])
})
