import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { databaseFolder, libraries, missing } from './databases.js'
import { sampled, soakOnly } from '../support/soak.js'

/** Statements, values, errors and iterators that both libraries have. */
const shop = `
const db = open('shop.db')
db.exec('create table if not exists orders (id integer primary key, item text, n, price real, photo blob)')
const insert = db.prepare('insert into orders (item, n, price, photo) values (?, ?, ?, ?)')
console.log(insert.run('kettle', 2, 19.5, Buffer.from([1, 2, 255])))
console.log(insert.run('cup', 12n, -0, null))
console.log(insert.run('spoon', null, 1 / 3, new Uint8Array(0)))
const all = db.prepare('select * from orders where item <> :item order by id')
console.log(db.prepare('select count(*) as n from orders').get())
console.log(db.prepare('select price from orders where id = ?').get(-1))
console.log(db.prepare('select item, photo from orders').all())
for (const row of db.prepare('select id, item from orders order by id').iterate()) {
  console.log(row)
  if (row.item === 'cup') break
}
for (const row of all.iterate({ item: 'cup' })) console.log(row.item)
try {
  db.exec('insert into orders (id) values (1); syntax error')
} catch (error) {
  console.log(error.code, error.message, error instanceof Error, String(error))
}
try {
  db.prepare('select nothing from nowhere')
} catch (error) {
  console.log(error)
}
console.log(all.columns())
db.close()
try {
  db.exec('select 1')
} catch (error) {
  console.log(error.constructor.name, error.message)
}
`

/** Everything of better-sqlite3 that is not in both. */
const better = `
const db = open('b.db', { verbose: (sql) => console.log('sql:', sql) })
console.log(db.pragma('foreign_keys = on'), db.pragma('cache_size', { simple: true }))
db.exec('create table t (id integer primary key, v unique)')
const insert = db.prepare('insert into t (v) values (?)')
const many = db.transaction((list) => {
  for (const v of list) insert.run(v)
  return db.inTransaction
})
console.log(many(['a', 'b']), db.inTransaction)
db.transaction(() => {
  insert.run('c')
  try {
    many(['d', 'a'])
  } catch (error) {
    console.log('inner', error.message)
  }
})()
try {
  many(['x', 'a'])
} catch (error) {
  console.log(error instanceof Database.SqliteError, error.code, error)
}
const all = db.prepare('select t.id, t.v from t')
console.log(all.all(), all.pluck().all(), all.pluck(false).raw().all(), all.expand().get())
console.log(db.prepare('select 9007199254740993 as big').safeIntegers().get())
console.log(db.prepare('select ? as x').bind(Buffer.from('bytes')).get())
console.log(all, all.reader, all.busy, db)
const rows = all.raw(false).expand(false).iterate()
console.log(rows.next(), all.busy, rows.return(), all.busy)
const progress = ({ remainingPages }) => (console.log('remaining', remainingPages), 1)
console.log(await db.backup('copy.db', { progress }))
const copy = open(db.serialize())
console.log(copy.prepare('select count(*) as n from t').get(), copy.memory, copy.name)
for (const use of [
  () => insert.all(),
  () => all.run(),
  () => insert.run(new Date(0)),
  () => open('nowhere/x.db'),
  () => open('x.db', { fileMustExist: true }),
  () => open('x.db', { readonly: 1 }),
]) {
  try {
    console.log('worked', use())
  } catch (error) {
    console.log(error.constructor === Database.SqliteError, error)
  }
}
console.log(db.close().open)
`

/** Everything of `node:sqlite` that is not in both. */
const nodes = `
import { backup, StatementSync } from 'node:sqlite'
const db = open('n.db')
db.exec('create table t (id integer primary key, v)')
const insert = db.prepare('insert into t (v) values (?)')
db.exec('begin')
insert.run('a')
console.log(db.isTransaction)
db.exec('commit')
console.log('createTagStore' in db, db.isTransaction, db.isOpen, db.location().endsWith('n.db'), db)
const some = db.prepare('select * from t where id > $id')
console.log(some instanceof StatementSync, some.sourceSQL, some.expandedSQL)
some.setReturnArrays(true)
console.log(some.all({ id: 0 }), some.expandedSQL)
const big = db.prepare('select 9007199254740993 as n')
try {
  big.get()
} catch (error) {
  console.log(error)
}
big.setReadBigInts(true)
console.log(big.get(), [...db.prepare('select v from t').iterate().map((row) => row.v)])
const session = db.createSession()
insert.run('z')
console.log(session.changeset())
session.close()
console.log(await backup(db, 'copy.db'))
for (const use of [
  () => open('n.db', { readOnly: true }).exec('delete from t'),
  () => open('n.db', { open: false }).isOpen,
  () => open(),
  () => new StatementSync(),
]) {
  try {
    console.log('worked', use())
  } catch (error) {
    console.log(error)
  }
}
db.close()
console.log(db.isOpen)
`

/** One database on disk and one in memory, a step in between. */
const branching = (marker: string): string => `
import { existsSync, writeFileSync } from 'node:fs'
import { tool } from '@retake/engine'
const memory = open(':memory:')
memory.exec('create table notes (text)')
memory.prepare('insert into notes values (?)').run('served')
const db = open('shop.db')
db.exec('pragma foreign_keys = on; create table if not exists t (id integer primary key, v)')
const insert = db.prepare('insert into t (v) values (?)')
insert.run('before')
const ask = tool('ask', async () => 'recorded')
${marker}
console.log(db.prepare('select v from t order by id').all().map(({ v }) => v).join())
console.log(memory.prepare('select text from notes').get().text)
`

/** Before a merge, node:sqlite has only the tests in which the two libraries differ. */
const oneLibrary = sampled(libraries, (_, index) => index === 0)

describe.skipIf(missing !== undefined)(`SQLite ${missing ?? ''}`, () => {
  test.each(oneLibrary)(
    '$name: replay, verify and doctor leave the database as the recording left it',
    async ({ head }) => {
      const { node, retake, digest, folder } = await databaseFolder({ 'shop.mjs': head + shop })
      const recorded = await retake(['record', '--strict', 'shop.mjs'])
      expect(recorded).toMatchObject({ code: 0 })
      expect(recorded.stdout).toContain('kettle')
      const before = await digest('shop.db')
      const replayed = await retake(['replay', 'last'])
      expect(replayed).toMatchObject({ code: 0, stdout: recorded.stdout })
      expect(await retake(['verify', 'last'])).toMatchObject({ code: 0 })
      expect(await retake(['doctor', 'shop.mjs'])).toMatchObject({ code: 0 })
      expect(await digest('shop.db')).toBe(before)
      await rm(join(folder, 'shop.db'))
      expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: recorded.stdout })
      expect(existsSync(join(folder, 'shop.db'))).toBe(false)
      const plain = await node(['shop.mjs'])
      expect(plain.stdout, 'a recorded program sees what a plain one does').toBe(recorded.stdout)
    },
  )

  test.each([
    { ...libraries[0], program: better, files: ['b.db', 'copy.db'] },
    { ...libraries[1], program: nodes, files: ['n.db', 'copy.db'] },
  ])('$name: everything an agent can observe is replayed', async ({ head, program, files }) => {
    const { node, retake, folder } = await databaseFolder({ 'agent.mjs': head + program })
    const recorded = await retake(['record', '--strict', 'agent.mjs'])
    expect(recorded).toMatchObject({ code: 0 })
    for (const file of files) await rm(join(folder, file))
    expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: recorded.stdout })
    expect(files.filter((file) => existsSync(join(folder, file)))).toEqual([])
    const plain = await node(['agent.mjs'])
    expect(plain.stdout, 'a recorded program sees what a plain one does').toBe(recorded.stdout)
  })

  test.each(oneLibrary)(
    '$name: forks and reruns work on a copy of the database',
    async ({ head }) => {
      const program = head + branching('insert.run(await ask())')
      const { retake, digest, folder } = await databaseFolder({
        'agent.mjs': program,
        'answer.json': '"forked"',
      })
      const recorded = await retake(['record', 'agent.mjs'])
      expect(recorded.stdout).toBe('before,recorded\nserved\n')
      const before = await digest('shop.db')
      const forked = await retake(['fork', 'last', '--at', '1', '--response', 'answer.json'])
      expect(forked).toMatchObject({ code: 0, stdout: 'before,recorded,forked\nserved\n' })
      expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: forked.stdout })
      await writeFile(
        join(folder, 'agent.mjs'),
        program.replace('select v', 'select upper(v) as v'),
      )
      const rerun = await retake(['rerun', 'last'])
      expect(rerun).toMatchObject({ code: 0, stdout: 'BEFORE,RECORDED\nserved\n' })
      expect(await digest('shop.db')).toBe(before)
    },
  )

  test.each([
    {
      ...libraries[0],
      what: 'attaches a file',
      body: `await ask()\ndb.exec("attach 'other.db' as other")`,
    },
    {
      ...libraries[1],
      what: 'writes a file with VACUUM INTO',
      body: `await ask()\ndb.prepare("vacuum into 'other.db'").run()`,
    },
    {
      ...libraries[0],
      what: 'is in a transaction',
      body: `db.exec('begin')\ninsert.run('x')\ninsert.run(await ask())\ndb.exec('commit')`,
    },
    {
      ...libraries[1],
      what: 'is reading rows',
      body: `const rows = db.prepare('select 1').iterate()\nrows.next()\nawait ask()\nrows.next()`,
    },
  ])('$name: a fork that $what gets an error, and the disk stays as it is', async (scene) => {
    const program = scene.head + branching(scene.body)
    const { retake, folder, digest } = await databaseFolder({ 'agent.mjs': program })
    await retake(['record', 'agent.mjs'])
    const before = await digest('shop.db')
    await rm(join(folder, 'other.db'), { force: true })
    const forked = await retake(['fork', 'last', '--at', '1'])
    expect(forked.stderr).toContain('The live part of this run cannot continue with the database')
    expect(forked.code).toBe(1)
    expect(await digest('shop.db')).toBe(before)
    expect(existsSync(join(folder, 'other.db'))).toBe(false)
  })

  test.each(oneLibrary)(
    '$name: a resumed run continues with the database, inside the open transaction',
    async ({ head }) => {
      const { retake } = await databaseFolder({
        'agent.mjs':
          head +
          branching(`
db.exec('begin')
insert.run('inside')
const crash = tool('crash', async () => {
  if (existsSync('crashed')) return
  writeFileSync('crashed', '')
  process.kill(process.pid, 'SIGKILL')
})
await crash()
insert.run('after')
db.exec('commit')
`),
      })
      await retake(['record', 'agent.mjs'])
      const resumed = await retake(['resume', 'last', '--in-doubt', 'retry'])
      expect(resumed).toMatchObject({ code: 0, stdout: 'before,inside,after\nserved\n' })
      expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: resumed.stdout })
    },
  )

  test.each(oneLibrary)(
    '$name: a statement whose answer is not on the tape is in doubt',
    async ({ head }) => {
      const { retake } = await databaseFolder({
        'agent.mjs':
          head +
          branching(`
db.function('crash', () => {
  if (existsSync('crashed')) return 'again'
  writeFileSync('crashed', '')
  process.kill(process.pid, 'SIGKILL')
})
db.prepare('insert into t (v) values (crash())').run()
`),
      })
      await retake(['record', 'agent.mjs'])
      const refused = await retake(['resume', 'last'])
      expect(refused.stderr).toContain('.run insert into t (v) values (crash())')
      expect(refused.stderr).toContain('--in-doubt retry')
      const resumed = await retake(['resume', 'last', '--in-doubt', 'retry'])
      expect(resumed).toMatchObject({ code: 0, stdout: 'before,again\nserved\n' })
    },
  )

  test('node:sqlite: a tag store works while it is recorded, and a replay refuses it', async () => {
    soakOnly()
    const program = `
const sql = open(':memory:').createTagStore()
console.log(sql.get\`select \${1} as one\`.one)
`
    const { retake } = await databaseFolder({ 'agent.mjs': libraries[1].head + program }, '24')
    const recorded = await retake(['record', 'agent.mjs'])
    expect(recorded).toMatchObject({ code: 0, stdout: '1\n' })
    expect(recorded.stderr).toContain(
      'createTagStore() of node:sqlite at agent.mjs:4 — replay stops',
    )
    expect(await retake(['replay', 'last'])).toMatchObject({ code: 3, stdout: '' })
  })

  const outside = (body: string): string => `
const db = open('shop.db')
db.exec('create table t (id integer primary key, v)')
const insert = db.prepare('insert into t (v) values (?)')
${body}`
  const inside = `
const count = () => db.prepare('select count(*) as n from t').get().n
const agent = async () => {
  insert.run('inside')
  try {
    db.exec('nonsense')
  } catch (error) {
    return { n: count(), first: db.prepare('select v from t').get(), code: error.code }
  }
}
const { output, run } = await record({ name: 'inside' }, agent)
console.log(JSON.stringify(output), count())
insert.run('outside')
const replayed = await replay(run.path, agent)
console.log(JSON.stringify(replayed.output), count())
`
  test.each(
    libraries.flatMap(({ name, head }) => [
      {
        name,
        when: 'after Retake was imported',
        files: {
          'agent.mjs': `import { record, replay } from '@retake/engine'\n${head}${outside(inside)}`,
        },
      },
      {
        name,
        when: 'before Retake was imported',
        files: {
          'database.mjs': `${head}${outside('export { db, insert }')}`,
          'agent.mjs': `import { db, insert } from './database.mjs'\nimport { record, replay } from '@retake/engine'\n${inside}`,
        },
      },
    ]),
  )(
    '$name: a database opened outside of runs, $when, is captured inside them',
    async ({ files }) => {
      const { node } = await databaseFolder(files)
      const { stdout, stderr } = await node(['agent.mjs'])
      const output = /^{"n":1,"first":{"v":"inside"},"code":"(SQLITE_ERROR|ERR_SQLITE_ERROR)"}/
      expect(stdout, stderr).toMatch(output)
      const [recorded, replayed] = stdout.split('\n')
      expect([recorded, replayed]).toEqual([
        `${recorded?.slice(0, -2)} 1`,
        `${recorded?.slice(0, -2)} 2`,
      ])
    },
  )

  const moduleOf = (
    head: string,
  ): string => `import { defineAgent, installShims, tool } from '@retake/engine'
${head}
// As an import of the package retake does.
if (!process.env.UNPATCHED) installShims()
const db = open('shop.db')
db.exec('pragma foreign_keys = on; create table if not exists t (id integer primary key, v)')
db.prepare('insert into t (v) values (?)').run('loaded')
const insert = db.prepare('insert into t (v) values (?)')
const all = db.prepare('select v from t order by id')
const loaded = all.all().length
const memory = open(':memory:')
memory.exec("create table notes (text); insert into notes values ('note')")
const note = memory.prepare('select text from notes')
// better-sqlite3 asks its connection whether a transaction is open.
const many = db.transaction?.((name) => insert.run(name))
const ask = tool('ask', async () => 'recorded')
export const handle = defineAgent('agent.mjs#handle', async ({ name }) => {
  if (many === undefined) {
    db.exec('begin')
    insert.run(name)
    db.exec('commit')
  } else many(name)
  insert.run(await ask())
  const rows = []
  for (const { v } of all.iterate()) rows.push(v)
  console.log(rows.join(), note.get().text, loaded > 0, db.prepare('pragma foreign_keys').get().foreign_keys)
  return rows.length
})
`
  const caller = `
import { record } from '@retake/engine'
import { handle } from './agent.mjs'
await record({ name: 'order', input: { name: 'asked' } }, handle)
`
  test.each(libraries.flatMap((library) => ['22', '24'].map((node) => ({ ...library, node }))))(
    '$name: a database that the module of a function run opens is served, and copied to go live, on Node $node',
    async ({ name, head, node: major }) => {
      // Node 24 changes the handling of node:sqlite most.
      if ((name === 'node:sqlite') !== (major === '24')) soakOnly()
      const files = { 'agent.mjs': moduleOf(head), 'server.mjs': caller, 'answer.json': '"forked"' }
      const { node, retake, digest, folder } = await databaseFolder(files, major)
      const { stdout, stderr } = await node(['server.mjs'])
      expect(stdout, stderr).toBe('loaded,asked,recorded note true 1\n')
      const before = await digest('shop.db')
      expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout })
      expect((await retake(['rerun', 'last'])).stderr).toContain('identical')
      const forked = await retake(['fork', 'last', '--at', '1', '--response', 'answer.json'])
      expect(forked.stdout, forked.stderr).toBe('loaded,asked,recorded,forked note true 1\n')
      expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: forked.stdout })
      expect(await digest('shop.db'), 'nothing has written to the database').toBe(before)
      await rm(join(folder, 'shop.db'))
      const replayed = await retake(['replay', 'last~1'])
      expect(replayed.stderr).toContain('identical')
      expect(existsSync(join(folder, 'shop.db'))).toBe(false)
    },
  )

  test.each(sampled(libraries, (_, index) => index === 1))(
    '$name: a file that the module of a function run attaches is named when it is recorded',
    async ({ head }) => {
      const { node, retake } = await databaseFolder({
        'agent.mjs': `import { defineAgent, installShims } from '@retake/engine'
${head}
installShims()
const db = open('shop.db')
db.exec("attach 'other.db' as other; create table if not exists other.t (v)")
const all = db.prepare('select v from other.t')
export const handle = defineAgent('agent.mjs#handle', async () => console.log(all.all().length))
`,
        'server.mjs': caller,
      })
      expect((await node(['server.mjs'])).stdout).toBe('0\n')
      const { stdout } = await retake(['show', 'last'])
      expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
        /a file that was attached to \S+ before the run at agent\.mjs:\d+ — then the run cannot be replayed/,
      )
      expect((await retake(['replay', 'last'])).stderr).toContain(
        'The statement names another file',
      )
    },
  )

  test('node:sqlite: a function run replays if it opens a database with a class that it imported before Retake was loaded', async () => {
    const files = {
      'agent.mjs': `import { defineAgent } from '@retake/engine'
import { DatabaseSync } from 'node:sqlite'
export const handle = defineAgent('agent.mjs#handle', async ({ name }) => {
  const db = new DatabaseSync('inside.db')
  db.exec('create table if not exists t (v)')
  db.prepare('insert into t values (?)').run(name)
  console.log(db.prepare('select v from t').all().length)
  if (db.isOpen) db.close()
})
`,
      'server.mjs': caller,
    }
    const { node, retake, folder, digest } = await databaseFolder(files)
    expect((await node(['server.mjs'])).stdout).toBe('1\n')
    const before = await digest('inside.db')
    await writeFile(
      join(folder, 'agent.mjs'),
      files['agent.mjs'].replace("'select v from t'", "'select v from t union all select 1'"),
    )
    const rerun = await retake(['rerun', 'last'])
    expect(rerun.stdout, rerun.stderr).toBe('2\n')
    expect(await digest('inside.db')).toBe(before)
    await writeFile(join(folder, 'agent.mjs'), files['agent.mjs'])
    await rm(join(folder, 'inside.db'))
    expect(await retake(['replay', 'last~1'])).toMatchObject({ code: 0, stdout: '1\n' })
    expect(existsSync(join(folder, 'inside.db'))).toBe(false)
  })

  test.each(oneLibrary)(
    '$name: functions that SQLite calls are reported, and their results replayed',
    async ({ head }) => {
      const { retake } = await databaseFolder({
        'agent.mjs': `${head}
const db = open(':memory:')
db.function('shout', (text) => text.toUpperCase())
console.log(db.prepare("select shout('hello') as said").get().said)
`,
      })
      const recorded = await retake(['record', 'agent.mjs'])
      expect(recorded.stdout).toBe('HELLO\n')
      expect(recorded.stderr).toMatch(
        /not captured: a function handed to function\(\) of \S+ at agent\.mjs:5 — the function is not called on replay/,
      )
      expect(await retake(['replay', 'last'])).toMatchObject({ code: 0, stdout: 'HELLO\n' })
    },
  )
})
