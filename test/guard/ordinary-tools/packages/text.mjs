/** Tools around packages for text, documents and numbers: most touch nothing. */
import * as acorn from 'acorn'
import Ajv from 'ajv'
import addFormats from 'ajv-formats'
import bcrypt from 'bcryptjs'
import * as cheerio from 'cheerio'
import { parse as parseCsv } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import { addDays, format } from 'date-fns'
import dayjs from 'dayjs'
import { Decimal } from 'decimal.js'
import * as diff from 'diff'
import { Document, Packer, Paragraph } from 'docx'
import ejs from 'ejs'
import { XMLParser } from 'fast-xml-parser'
import { franc } from 'franc'
import Fuse from 'fuse.js'
import Handlebars from 'handlebars'
import he from 'he'
import iconv from 'iconv-lite'
import ini from 'ini'
import Joi from 'joi'
import * as jose from 'jose'
import * as jsYaml from 'js-yaml'
import JSON5 from 'json5'
import jwt from 'jsonwebtoken'
import _ from 'lodash'
import lunr from 'lunr'
import { DateTime } from 'luxon'
import MagicString from 'magic-string'
import mammoth from 'mammoth'
import { marked } from 'marked'
import { evaluate } from 'mathjs'
import mimeTypes from 'mime-types'
import MiniSearch from 'minisearch'
import Mustache from 'mustache'
import { nanoid } from 'nanoid'
import natural from 'natural'
import { createReadStream, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import nunjucks from 'nunjucks'
import Papa from 'papaparse'
import { PDFDocument, StandardFonts } from 'pdf-lib'
import pug from 'pug'
import QRCode from 'qrcode'
import { remark } from 'remark'
import sanitizeHtml from 'sanitize-html'
import semver from 'semver'
import slugify from 'slugify'
import { parse as parseToml } from 'smol-toml'
import ts from 'typescript-5'
import TurndownService from 'turndown'
import { v4, validate } from 'uuid'
import validator from 'validator'
import xlsx from 'xlsx'
import { parseStringPromise } from 'xml2js'
import * as yup from 'yup'
import { z } from 'zod'

const read = (file) => readFileSync(file, 'utf8')

export const csvSum = ({ file }) =>
  parseCsv(read(file), { columns: true }).reduce((sum, { amount }) => sum + Number(amount), 0)
export const csvWrite = ({ file, rows }) => {
  writeFileSync(file, stringify(rows))
  return read(file)
}
export const papa = ({ file }) =>
  new Promise((resolve, reject) => {
    Papa.parse(createReadStream(file), {
      header: true,
      complete: ({ data }) => resolve(data.length),
      error: reject,
    })
  })
export const sheet = ({ file }) => {
  const book = xlsx.utils.book_new()
  xlsx.utils.book_append_sheet(book, xlsx.utils.json_to_sheet([{ a: 1 }]), 's')
  xlsx.writeFile(book, file)
  return xlsx.utils.sheet_to_json(xlsx.readFile(file).Sheets.s)
}
export const pdf = async ({ file, text }) => {
  const document = await PDFDocument.create()
  const font = await document.embedFont(StandardFonts.Helvetica)
  document.addPage().drawText(text, { font })
  writeFileSync(file, await document.save())
  return (await PDFDocument.load(readFileSync(file))).getPageCount()
}
export const word = async ({ file, text }) => {
  const document = new Document({ sections: [{ children: [new Paragraph(text)] }] })
  writeFileSync(file, await Packer.toBuffer(document))
  return (await mammoth.extractRawText({ path: file })).value.trim()
}
export const qrCode = async ({ file, text }) => {
  await QRCode.toFile(file, text)
  return readFileSync(file).subarray(1, 4).toString()
}
export const markdown = ({ file }) => marked.parse(read(file)).includes('<h1>Title</h1>')
export const remarkFile = async ({ file }) =>
  `${await remark().process(read(file))}`.startsWith('# Title')
export const htmlText = ({ file }) => cheerio.load(read(file))('p.x').text()
export const toMarkdown = ({ html }) => new TurndownService().turndown(html)
export const sanitize = ({ html }) => sanitizeHtml(html)
export const entities = ({ text }) => he.decode(he.encode(text))
export const xml = ({ file }) => new XMLParser().parse(read(file)).order.item
export const xmlOld = async ({ file }) => (await parseStringPromise(read(file))).order.item
export const yaml = ({ file }) => jsYaml.load(read(file)).items
export const toml = ({ text }) => parseToml(text).a
export const iniFile = ({ file }) => ini.parse(read(file)).server.port
export const json5 = ({ text }) => JSON5.parse(text)
export const mustache = ({ file, name }) => Mustache.render(read(file), { name })
export const handlebars = ({ template, name }) => Handlebars.compile(template)({ name })
export const ejsText = ({ template, name }) => ejs.render(template, { name })
export const nunjucksText = ({ template, name }) => nunjucks.renderString(template, { name })
export const pugText = ({ template }) => pug.render(template)
export const ajv = ({ email }) =>
  addFormats(new Ajv()).validate({ type: 'string', format: 'email' }, email)
export const joi = ({ ip }) => Joi.object({ ip: Joi.string().ip() }).validate({ ip }).value
export const yupCheck = ({ website }) => yup.string().url().validate(website)
export const zodCheck = ({ address }) => z.object({ zip: z.string() }).parse(address)
export const validated = ({ iban, url }) => [validator.isIBAN(iban), validator.isURL(url)]
export const day = ({ date }) => dayjs(date).add(1, 'month').format('YYYY-MM-DD')
export const luxonTime = ({ zone }) => DateTime.fromISO('2026-01-01T12:00Z', { zone }).hour
export const dateFns = ({ date }) => format(addDays(new Date(date), 1), 'yyyy')
export const lodash = ({ items }) => _.sumBy(_.uniqBy(items, 'id'), 'price')
export const ids = () => [validate(v4()), nanoid().length]
export const password = async ({ password }) =>
  bcrypt.compare(password, await bcrypt.hash(password, 4))
export const token = ({ user }) => jwt.verify(jwt.sign({ user }, 'test'), 'test').user
export const joseToken = async ({ user }) => {
  const key = new TextEncoder().encode('test')
  const signed = await new jose.SignJWT({ user }).setProtectedHeader({ alg: 'HS256' }).sign(key)
  return (await jose.jwtVerify(signed, key)).payload.user
}
export const decimal = ({ a, b }) => new Decimal(a).plus(b).toString()
export const math = ({ expression }) => evaluate(expression)
export const version = ({ range, version }) => semver.satisfies(version, range)
export const slug = ({ title }) => slugify(title, { lower: true })
export const difference = ({ before, after }) =>
  diff.diffWords(before, after).filter(({ added }) => added).length
export const encoding = ({ text }) => iconv.decode(iconv.encode(text, 'win1252'), 'win1252')
export const typeOfFile = ({ path }) => mimeTypes.lookup(path)
export const parseJs = ({ code }) => acorn.parse(code, { ecmaVersion: 2022 }).body.length
export const editJs = ({ code }) => new MagicString(code).append(';').toString()
export const words = ({ text }) => new natural.WordTokenizer().tokenize(text).length
export const stem = ({ word }) => natural.PorterStemmer.stem(word)
export const language = ({ text }) => franc(text)
export const fuzzy = ({ query }) => new Fuse(['apple', 'pear']).search(query)[0].item
export const fullText = ({ query }) => {
  const index = lunr(function () {
    this.field('text')
    this.add({ id: 1, text: 'tea and milk' })
  })
  return index.search(query).length
}
export const miniSearch = ({ query }) => {
  const search = new MiniSearch({ fields: ['text'] })
  search.addAll([{ id: 1, text: 'tea and milk' }])
  return search.search(query).length
}

export const transpile = ({ file }) => ts.transpile(readFileSync(file, 'utf8')).trim()

/** It reads the types of the language from its own folder. */
const typescriptFiles = path.dirname(fileURLToPath(import.meta.resolve('typescript-5')))

export function typeCheck({ file }) {
  const program = ts.createProgram([file], { noEmit: true, types: [] })
  return ts.getPreEmitDiagnostics(program).length
}

/** @type {(values: Record<string, string>) => object[]} */
export const rows = () => {
  const reads = { effects: ['read'] }
  const writes = { effects: ['read', 'write'] }
  return [
    {
      tool: typeCheck,
      args: { file: 'work/src/index.ts' },
      effects: ['read'],
      read: [typescriptFiles],
      expected: 0,
    },
    { tool: transpile, args: { file: 'work/src/one.ts' }, ...reads, expected: /one = 1/ },
    { tool: csvSum, args: { file: 'work/sales.csv' }, ...reads, expected: 42 },
    {
      tool: csvWrite,
      args: { file: 'work/out/x.csv', rows: [['a', 1]] },
      ...writes,
      expected: 'a,1\n',
    },
    { tool: papa, args: { file: 'work/sales.csv' }, ...reads, expected: 2 },
    { tool: sheet, args: { file: 'work/out/x.xlsx' }, ...writes, expected: [{ a: 1 }] },
    { tool: pdf, args: { file: 'work/out/x.pdf', text: 'Hi' }, ...writes, expected: 1 },
    { tool: word, args: { file: 'work/out/x.docx', text: 'Hi' }, ...writes, expected: 'Hi' },
    {
      tool: qrCode,
      args: { file: 'work/out/q.png', text: 'https://example.com/' },
      ...writes,
      expected: 'PNG',
    },
    { tool: markdown, args: { file: 'work/notes/readme.md' }, ...reads, expected: true },
    { tool: remarkFile, args: { file: 'work/notes/readme.md' }, ...reads, expected: true },
    { tool: htmlText, args: { file: 'work/page.html' }, ...reads, expected: 'World' },
    { tool: toMarkdown, args: { html: '<h1>Hi</h1>' }, expected: /Hi/ },
    {
      tool: sanitize,
      args: { html: '<b>x</b><script src="//evil.example/x.js"></script>' },
      expected: '<b>x</b>',
    },
    { tool: entities, args: { text: 'a < b' }, expected: 'a < b' },
    { tool: xml, args: { file: 'work/order.xml' }, ...reads, expected: ['tea', 'milk'] },
    { tool: xmlOld, args: { file: 'work/order.xml' }, ...reads, expected: ['tea', 'milk'] },
    { tool: yaml, args: { file: 'work/config.yaml' }, ...reads, expected: ['a', 'b'] },
    { tool: toml, args: { text: 'a = 1' }, expected: 1 },
    { tool: iniFile, args: { file: 'work/settings.ini' }, ...reads, expected: '80' },
    { tool: json5, args: { text: '{a: 1}' }, expected: { a: 1 } },
    {
      tool: mustache,
      args: { file: 'work/mail.mustache', name: 'Ann' },
      ...reads,
      expected: 'Hello Ann!',
    },
    { tool: handlebars, args: { template: 'Hi {{name}}', name: 'Ann' }, expected: 'Hi Ann' },
    { tool: ejsText, args: { template: 'Hi <%= name %>', name: 'Ann' }, expected: 'Hi Ann' },
    { tool: nunjucksText, args: { template: 'Hi {{ name }}', name: 'Ann' }, expected: 'Hi Ann' },
    { tool: pugText, args: { template: 'p Hi' }, expected: '<p>Hi</p>' },
    { tool: ajv, args: { email: 'ann@example.com' }, expected: true },
    { tool: joi, args: { ip: '10.0.0.1' }, expected: { ip: '10.0.0.1' } },
    {
      tool: yupCheck,
      args: { website: 'https://shop.example/a' },
      expected: 'https://shop.example/a',
    },
    { tool: zodCheck, args: { address: { zip: '10115' } }, expected: { zip: '10115' } },
    {
      tool: validated,
      args: { iban: 'DE89370400440532013000', url: 'https://example.com' },
      expected: [true, true],
    },
    { tool: day, args: { date: '2026-01-31' }, expected: '2026-02-28' },
    { tool: luxonTime, args: { zone: 'America/New_York' }, expected: 7 },
    { tool: dateFns, args: { date: '2026-12-31T12:00:00Z' }, expected: '2027' },
    {
      tool: lodash,
      args: {
        items: [
          { id: 1, price: 2 },
          { id: 1, price: 2 },
        ],
      },
      expected: 2,
    },
    { tool: ids, expected: [true, 21] },
    { tool: password, args: { password: 'x' }, expected: true },
    { tool: token, args: { user: 'ann' }, expected: 'ann' },
    { tool: joseToken, args: { user: 'ann' }, expected: 'ann' },
    { tool: decimal, args: { a: '0.1', b: '0.2' }, expected: '0.3' },
    { tool: math, args: { expression: 'sqrt(16) / 2' }, expected: 2 },
    { tool: version, args: { range: '^1.2.0', version: '1.4.0' }, expected: true },
    { tool: slug, args: { title: 'Hello World' }, expected: 'hello-world' },
    { tool: difference, args: { before: 'a b', after: 'a c' }, expected: 1 },
    { tool: encoding, args: { text: 'é' }, expected: 'é' },
    { tool: typeOfFile, args: { path: '/images/a.png' }, expected: 'image/png' },
    { tool: parseJs, args: { code: 'a(); b()' }, expected: 2 },
    { tool: editJs, args: { code: 'a()' }, expected: 'a();' },
    { tool: words, args: { text: 'one two three' }, expected: 3 },
    { tool: stem, args: { word: 'running' }, expected: 'run' },
    {
      tool: language,
      args: { text: 'Das ist ein Satz in deutscher Sprache, und er ist lang genug.' },
      expected: 'deu',
    },
    { tool: fuzzy, args: { query: 'aple' }, expected: 'apple' },
    { tool: fullText, args: { query: 'milk' }, expected: 1 },
    { tool: miniSearch, args: { query: 'milk' }, expected: 1 },
  ]
}
