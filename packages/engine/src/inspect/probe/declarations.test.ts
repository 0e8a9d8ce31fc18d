import { expect, test } from 'vitest'
import { declarationsIn, type ScopeKind } from './declarations.js'

/** Names that have no value yet at the marker `¦`. */
function notReady(kind: ScopeKind, text: string): string[] {
  const at = text.indexOf('¦')
  const source = text.replace('¦', '')
  return declarationsIn(source, kind, 0)
    .filter(({ readyAt }) => at < readyAt)
    .map(({ name }) => name)
}

test.each<[title: string, source: string, names: string[]]>([
  ['the value is being made', '{ const a = 1\n const p = await ¦pay({ i })\n use(p) }', ['p']],
  ['the statement is over', '{ const p = await pay()\n ¦use(p) }', []],
  ['it is over without a line break', '{ const p = await pay();¦use(p) }', []],
  ['later statements', '{ ¦first(); let a; const b = 1; class C {} }', ['a', 'b', 'C']],
  ['one declarator after another', '{ const a = f(), b = ¦g(), c = h() }', ['b', 'c']],
  ['a pattern', '{ const { a, b: [c = d, ...e], ...f } = ¦g(), h = 1 }', ['a', 'c', 'e', 'f', 'h']],
  [
    'a pattern with computed and quoted keys',
    "{ let { [k]: a, 'x-y': b, 0: c } = ¦g() }",
    ['a', 'b', 'c'],
  ],
  ['a line that goes on', '{ const a = f()\n  .then(¦g)\n  ?? h\nconst b = 1 }', ['a', 'b']],
  ['an operator at the end of a line', '{ const a =\n f() +\n ¦g()\n }', ['a']],
  ['a function as the value', '{ const f = () => { const inner = 1; return inner }\n¦f() }', []],
  ['nothing inside nested blocks', '{ if (x) { const a = 1 } for (const b of c) {}\n ¦d() }', []],
  [
    'strings, templates and expressions',
    '{ const a = `}${`{`}` + "}" + /[/}]/.test(b)\n ¦c() }',
    [],
  ],
  ['a division', '{ const a = b / 2; const c = d / ¦e() }', ['c']],
  ['comments', '{ const a = 1 // } let x\n /* let y */ ¦f(); let z }', ['z']],
  ['a property called let', '{ a.let = 1; ¦b({ let: 1, const: 2 }) }', []],
  ['increments on lines of their own', '{ let a = b\n++¦c\nlet d }', ['d']],
  [
    'a class that extends a call',
    '{ class A extends f({ ¦x: 1 }) { m() { let n } }\nlet z }',
    ['A', 'z'],
  ],
  ['a class as a value', '{ const A = class B {}\n ¦f() }', []],
])('in a block: %s', (_title, source, names) => {
  expect(notReady('block', source)).toEqual(names)
})

test.each<[source: string, names: string[]]>([
  ['(const x of await ¦f()) { g(x) }', ['x']],
  ['(const [x, { y }] of z) { ¦g(x) }', []],
  ['(let i = ¦f(), n = 2; i < n; i++) {}', ['i', 'n']],
  ['(let i = 0; ¦i < 2; i++) {}', []],
  ['; ¦i < 2; i++) { const a = 1 }', []],
])('in the head of a loop: %s', (source, names) => {
  expect(notReady('block', source)).toEqual(names)
})

test.each<[source: string, names: string[]]>([
  ['({ a = 1 }, b = {}) { const c = ¦a; let d }', ['c', 'd']],
  ['async ({ a }) => { await ¦a; const b = 1 }', ['b']],
  ['async x => { ¦x(); const b = 1 }', ['b']],
  ['(a) => ({ b: ¦a })', []],
  ['(a) => ¦a.map((b) => { const c = b })', []],
])('in a function: %s', (source, names) => {
  expect(notReady('function', source)).toEqual(names)
})

test('in a file', () => {
  const source = "import { a } from 'b'\nexport const c = a\n¦a()\nexport class D {}\nlet e = 1"
  expect(notReady('file', source)).toEqual(['D', 'e'])
})
