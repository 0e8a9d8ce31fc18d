import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { databaseFolder, libraries, missing } from './databases.js'

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

describe.skipIf(missing !== undefined)(`SQLite ${missing ?? ''}`, () => {
  test.each(libraries)(
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
})
