import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { plural } from '@retake/tape/present'
import { FOUND } from '../command-line/exit-codes.js'
import { DIR_OPTION, type Verb } from '../command-line/verb.js'
import { version } from '../package-root.js'
import {
  filesToScan,
  SECRET_RULES,
  type SecretFinding,
  secretsIn,
} from '../privacy/find-secrets.js'
import { fromHere, printJson, Progress } from '../terminal/terminal.js'
import { writeOrReport } from './verify.js'

export default {
  arguments: '<run|folder|file...>',
  description: `Searches tapes and other files for secrets: credentials in known formats, values of
secret variables in the current environment, and random values after names such as \`api_key\`,
even if they are encoded or compressed. Prints where each secret is, but never the secret itself.

Exit code 3 if there are findings.`,
  options: {
    '--sarif <file>': 'also write the findings to this file as SARIF 2.1.0, for code scanning',
    ...DIR_OPTION,
  },
  examples: [
    'retake scan last',
    'retake scan .retake test/tapes',
    'retake scan . --sarif secrets.sarif',
  ],
  run(options, names) {
    const files = names.flatMap((name) => filesToScan(name, () => options.store))
    const findings: SecretFinding[] = []
    using progress = new Progress()
    for (const [index, file] of files.entries()) {
      progress.say(`scanning ${index + 1} of ${files.length}: ${path.basename(file)}`)
      findings.push(...secretsIn(file))
    }
    progress.stop()
    const sarif = options.text('sarif')
    if (sarif !== undefined) writeOrReport(sarif, () => writeFileSync(sarif, sarifOf(findings)))
    if (options.json) printJson({ files: files.length, findings })
    else {
      for (const { file, event, where, rule } of findings)
        console.log(
          `${fromHere(file)}: ${event === undefined ? where : `event ${event}, ${where}`}: ${SECRET_RULES[rule]}`,
        )
      console.error(`${plural(findings.length, 'finding')} in ${plural(files.length, 'file')}`)
    }
    return findings.length === 0 ? 0 : FOUND
  },
} satisfies Verb

function sarifOf(findings: readonly SecretFinding[]): string {
  const rules = Object.entries(SECRET_RULES).map(([id, text]) => ({
    id,
    shortDescription: { text: `Contains ${text}` },
  }))
  const results = findings.map(({ rule, file, where, event, line = 1 }) => ({
    ruleId: rule,
    level: 'error',
    message: {
      text: `${SECRET_RULES[rule]}, in ${event === undefined ? where : `event ${event}, ${where}`}`,
    },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: encodeURI(path.relative('.', file).replaceAll('\\', '/')) },
          region: { startLine: line },
        },
      },
    ],
  }))
  const driver = { name: 'retake', version: version(), rules }
  const schema = 'https://json.schemastore.org/sarif-2.1.0.json'
  return JSON.stringify({
    $schema: schema,
    version: '2.1.0',
    runs: [{ tool: { driver }, results }],
  })
}
