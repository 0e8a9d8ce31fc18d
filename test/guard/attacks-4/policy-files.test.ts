// oxlint-disable vitest/no-standalone-expect -- `attack` makes tests of them.
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { guard, type GuardRun, loadPolicy, type Policy } from 'retake'
import { describe, expect, onTestFinished } from 'vitest'
import { attack } from '../attacks-2/world.js'

interface Loaded {
  readonly run: GuardRun
  readonly sent: unknown[]
}

/** A guard with the policy of a file, and a tool `send`. */
async function withFile(text: string | Uint8Array, name = 'policy.yaml'): Promise<Loaded> {
  const folder = fs.mkdtempSync(join(tmpdir(), 'retake-policy-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, name)
  fs.writeFileSync(file, text)
  const policy = await loadPolicy(file)
  return withPolicy(policy, folder)
}

function withPolicy(policy: Policy | readonly Policy[], folder: string): Loaded {
  const run = guard({ name: 'files', dir: join(folder, 'tapes'), durability: 'process', policy })
  onTestFinished(() => void run.end())
  const sent: unknown[] = []
  run.tool('send', (args: unknown) => void sent.push(args))
  run.tool('read', () => 'text')
  return { run, sent }
}

/** Either the file is refused, or the call that its author wanted to stop is stopped. */
const stops = (name: string, bad: string | Uint8Array, good?: string, file?: string): void =>
  attack(name, {
    attack: async () => {
      let loaded: Loaded | undefined
      try {
        loaded = await withFile(bad, file)
      } catch (error) {
        expect((error as { code: string }).code).toMatch(/^(?:POLICY|LIMITS|GUARD_OPTIONS)_/)
      }
      await loaded?.run.call('send', { to: 'eve', amount: 900 })
      expect(loaded?.sent ?? []).toEqual([])
    },
    twin:
      good === undefined
        ? undefined
        : async () => {
            const { run, sent } = await withFile(good, file)
            await run.call('send', { to: 'ann', amount: 1 })
            expect(sent).toHaveLength(1)
            await run.call('send', { to: 'eve', amount: 900 })
            expect(sent).toHaveLength(1)
          },
  })

const DENY = 'rules:\n  - deny: send\n    when: { to: eve }\n'
const FINE = `name: p\n${DENY}`

describe('YAML that can be read in two ways', () => {
  stops('a list of rules twice', `name: p\n${DENY}rules: []\n`, FINE)
  stops('a key of a rule twice', 'name: p\nrules:\n  - deny: send\n    deny: read\n')
  stops('a condition twice', 'name: p\nrules:\n  - deny: send\n    when: { to: eve, to: bob }\n')
  stops('a default twice', 'name: p\ndefault: deny\ndefault: allow\n')
  stops('two documents', `name: q\n---\n${FINE}`)
  stops('a document that ends early', `name: q\n...\n${DENY}`)
  stops('a merge key', `base: &b { deny: send }\nname: p\nrules:\n  - <<: *b\n`)
  stops(
    'an anchor that is used again',
    'name: p\nrules:\n  - &a { deny: send, when: { to: eve } }\n',
    FINE,
  )
  stops('an alias of nothing', 'name: p\nrules: *none\n')
  stops('an alias inside itself', 'name: p\nrules: &a\n  - *a\n')
  stops('a tag of a language', 'name: p\nrules: !!js/eval "[]"\n')
  stops('a tag that makes a text of a list', 'name: p\nrules:\n  - deny: !!str [send]\n')
  stops('a tag that makes binary of a name', 'name: p\nrules:\n  - deny: !!binary c2VuZA==\n')
  stops('a set in place of a list', 'name: p\nrules:\n  - deny: ? send\n')
  stops('the word no', 'name: p\nrules:\n  - deny: send\n    when: { to: { exists: no } }\n')
  stops('the word off as default', 'name: p\ndefault: off\n')
  stops('nothing behind the name of a key', 'name: p\nrules:\n  - deny:\n')
  stops('nothing behind rules', 'name: p\nrules:\n')
  stops('a tilde', 'name: p\nrules: ~\n')
  stops('no rules, only a comment', '# name: p\n')
  stops('an empty file', '')
  stops(
    'a number with an underscore',
    'name: p\nrules:\n  - deny: send\n    when: { amount: { over: 1_00 } }\n',
    'name: p\nrules:\n  - deny: send\n    when: { amount: { over: 100 } }\n',
  )
  stops(
    'a number in quotes',
    'name: p\nrules:\n  - deny: send\n    when: { amount: { over: "100" } }\n',
  )
  stops(
    'a number that is not one',
    'name: p\nrules:\n  - deny: send\n    when: { amount: { over: .nan } }\n',
  )
  stops(
    'a number with a comma',
    'name: p\nrules:\n  - deny: send\n    when: { amount: { over: 1,5 } }\n',
  )
  stops('a condition without blanks', 'name: p\nrules:\n  - deny: send\n    when: {to:eve}\n')
  stops('a tab in front', `name: p\nrules:\n\t- deny: send\n`)
  stops('a rule one column too far', 'name: p\nrules:\n  - deny: send\n     when: { to: eve }\n')
  stops('rules beside the policy in a list', `- name: p\n- ${DENY.replaceAll('\n', '\n  ')}`)
  stops('an empty list of policies', '[]\n')
  stops('a folded text for a name', 'name: p\nrules:\n  - deny: >\n      send\n')
  stops('a comment glued to a name', 'name: p\nrules:\n  - deny: send#all\n  - deny: "*"\n')
  stops('line ends of old systems', FINE.replaceAll('\n', '\r'), FINE.replaceAll('\n', '\r\n'))
  stops('a byte order mark', `\uFEFF${FINE}`, `\uFEFF${FINE}`)
  stops('UTF-16', Buffer.from(FINE, 'utf16le'))
  stops('Latin-1', Buffer.from(FINE.replace('eve', 'é'), 'latin1'))
  stops('a null byte', FINE.replace('send', 'se\0nd'))
})

describe('JSON that can be read in two ways', () => {
  const json = (text: string): [string, string, string] => [
    text,
    '{"name":"p","rules":[{"deny":"send","when":{"to":"eve"}}]}',
    'policy.json',
  ]
  stops('a list of rules twice', ...json('{"name":"p","rules":[{"deny":"send"}],"rules":[]}'))
  stops(
    'a key twice, once with escapes',
    ...json('{"name":"p","rules":[{"deny":"send"}],"\\u0072ules":[]}'),
  )
  stops('a prototype', ...json('{"name":"p","__proto__":{"rules":[]},"default":"deny"}'))
  stops('a rule with a prototype', ...json('{"name":"p","rules":[{"__proto__":{"deny":"send"}}]}'))
  stops('a comment', ...json('{"name":"p"/*,"rules":[{"deny":"send"}]*/}'))
  stops('a comma at the end', ...json('{"name":"p","rules":[{"deny":"send",}],}'))
  stops('two values', ...json('{"name":"p"}{"rules":[{"deny":"send"}]}'))
  stops('rules as an object', ...json('{"name":"p","rules":{"0":{"deny":"send"}}}'))
  stops('a list of lists', ...json('[[{"name":"p","rules":[{"deny":"send"}]}]]'))
  stops(
    'a number with an exponent',
    ...json('{"name":"p","rules":[{"deny":"send","when":{"amount":{"over":1e2}}}]}'),
  )
})

describe('keys and names that mean nothing', () => {
  const rule = (text: string): string => `name: p\nrules:\n  - ${text}\n`
  const wrong: Readonly<Record<string, string>> = {
    'a rule in another case': 'Deny: send',
    'a rule in the plural': 'denies: send',
    'a verdict as a value': 'tool: send\n    verdict: deny',
    'two verdicts': 'deny: send\n    allow: read',
    'an empty list of tools': 'deny: []',
    'an empty name': 'deny: ""',
    'a name of blanks': 'deny: "  "',
    'a number for a name': 'deny: 5',
    'an object for a name': 'deny: { send: true }',
    'an invisible character': 'deny: "send\\u200B"',
    'an invisible character in a list': 'deny: [read, "\\u2060send"]',
    'a look-alike letter': 'deny: "s\\u0435nd"',
    'a look-alike letter in a pattern': 'deny: "s\\u0435*"',
    'a look-alike letter in after': 'deny: send\n    after: { tool: "r\\u0435ad" }',
    'a look-alike letter in tainted': 'deny: send\n    tainted: "r\\u0435ad"',
    'an invisible character in tainted': 'deny: send\n    tainted: ["read\\u200B"]',
    'an invisible character in tainted from': 'deny: send\n    tainted: { from: "read\\u200B" }',
    'a null character': 'deny: "send\\0"',
    'an effect in another case': 'deny: "*"\n    effect: Write',
    'no effect': 'deny: "*"\n    effect: []',
    'an empty when': 'deny: send\n    when: {}',
    'an empty predicate': 'deny: send\n    when: { to: {} }',
    'only ignoreCase': 'deny: send\n    when: { to: { ignoreCase: true } }',
    'an unknown condition': 'deny: send\n    when: { to: { is: eve } }',
    'a condition in another case': 'deny: send\n    when: { to: { startswith: eve } }',
    'a list as a predicate': 'deny: send\n    when: { to: [eve] }',
    'an empty list of values': 'deny: send\n    when: { to: { in: [] } }',
    'an empty pattern': 'deny: send\n    when: { to: { matches: "" } }',
    'a pattern with slashes that is broken': 'deny: send\n    when: { to: { matches: "/(eve/" } }',
    'a look behind': 'deny: send\n    when: { to: { matches: "(?<=e)ve" } }',
    'a path with an empty part': 'deny: send\n    when: { "to..x": eve }',
    'a path with a star inside': 'deny: send\n    when: { "t*": eve }',
    'an empty after': 'deny: send\n    after: {}',
    'an empty list after': 'deny: send\n    after: []',
    'a window without a rule': 'deny: send\n    within: 3',
    'a window of nothing': 'deny: send\n    moreThan: 1\n    within: 0',
    'a negative count': 'deny: send\n    moreThan: -1',
    'a count with a fraction': 'deny: send\n    moreThan: 0.5',
    'no untrusted tool': 'deny: send\n    tainted: { in: to }',
    'an allow rule that counts': 'allow: send\n    moreThan: 1',
    'an allow rule about taint': 'allow: send\n    tainted: read',
    'a rule behind one that decides all': 'allow: "*"\n  - deny: send',
    'the same id twice': 'id: a\n    deny: read\n  - id: a\n    deny: send',
  } // prettier-ignore
  for (const [name, text] of Object.entries(wrong)) stops(name, rule(text))
  for (const [name, text] of Object.entries({
    'a preset that does not exist': 'presets: [readonly]',
    'an option of a preset that does not exist': 'presets: [{ strict: { allows: read } }]',
    'a preset with nothing': 'presets: [~]',
    'two presets in one entry': 'presets: [{ noShell: {}, strict: {} }]',
    'presets in the plural': 'preset: strict',
    'limits in the singular': 'limit: { calls: 0 }',
    'limits with a pattern': 'limits: { tools: { "s*": { calls: 0 } } }',
    'limits with a look-alike letter': 'limits: { tools: { "s\\u0435nd": { calls: 0 } } }',
    'a scope in the plural': 'networks: { allow: [] }',
    'a scope with nothing': 'files:',
    'a scope with a text': 'files: none',
    'a host with a path': 'network: { allow: [a.example/x] }',
    'a host that is a pattern inside': 'network: { allow: ["a.*.example"] }',
    'a program as a text': 'shell: { allow: ["git status"] }',
    'a program that is a pattern': 'shell: { allow: [["*"]] }',
  }))
    stops(name, `name: p\n${text}\n`)
})

describe('precedence', () => {
  const folder = (): string => {
    const made = fs.mkdtempSync(join(tmpdir(), 'retake-policy-'))
    onTestFinished(() => fs.rmSync(made, { recursive: true, force: true }))
    return made
  }
  const denied = (name: string, policies: readonly Policy[], good: readonly Policy[]): void =>
    attack(name, {
      attack: async () => {
        const { run, sent } = withPolicy(policies, folder())
        expect((await run.call('send', { to: 'eve' })).status).toBe('denied')
        expect(sent).toEqual([])
      },
      twin: async () => {
        const { run, sent } = withPolicy(good, folder())
        await run.call('send', { to: 'ann' })
        expect(sent).toHaveLength(1)
      },
    })
  const allow: Policy = { name: 'a', rules: [{ allow: '*' }] }
  const deny: Policy = { name: 'd', rules: [{ deny: 'send', when: { to: 'eve' } }] }
  denied('an allowing policy before a denying one', [allow, deny], [allow, deny])
  denied('an allowing policy behind a denying one', [deny, allow], [deny, allow])
  denied(
    'an asking policy beside a denying one',
    [{ name: 'k', rules: [{ ask: '*' }] }, deny],
    [allow],
  )
  denied(
    'a default beside an allow rule',
    [{ name: 'x', default: 'deny' }, allow],
    [{ name: 'x', default: 'allow' }, allow],
  )
  denied(
    'two policies of one name',
    [{ ...deny, name: 'a' }, allow],
    [{ ...deny, name: 'a' }, allow],
  )
  denied(
    'a smaller limit in a second policy',
    [{ ...allow, limits: { calls: 9 } }, { name: 'l', limits: { calls: 0 } }, deny],
    [{ ...allow, limits: { calls: 9 } }],
  )

  attack('names with parts of patterns', {
    attack: async () => {
      const policy: Policy = {
        name: 'p',
        default: 'deny',
        rules: [{ allow: ['se*d', 'r*d*x', '*.y'] }],
      }
      const { run } = withPolicy(policy, folder())
      const names = ['sed', 'sendx', 'xsend', 'rdx', 'r*d*', 'rx', 'y', '.yy', 'SE*D']
      const made: string[] = []
      for (const name of names) run.tool(name, () => void made.push(name))
      for (const name of names) await run.call(name, {})
      expect(made).toEqual(['sed', 'rdx'])
    },
    twin: async () => {
      const policy: Policy = { name: 'p', default: 'deny', rules: [{ allow: ['se*d'] }] }
      const { run, sent } = withPolicy(policy, folder())
      await run.call('send', {})
      expect(sent).toHaveLength(1)
    },
  })
})
