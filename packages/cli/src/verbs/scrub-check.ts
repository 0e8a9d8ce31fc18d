import { writeOrReport } from '@retake/runner/verify'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { plural } from '@retake/tape/present'
import { FOUND } from '@retake/runner/command-line'
import { DIR_OPTION, type Verb } from '@retake/runner/command-line'
import { version } from '@retake/runner/package-root'
import { filesToScan, scanFile, SECRET_RULES, type SecretFinding } from '@retake/runner/privacy'
import { fromHere, printJson, Progress } from '@retake/runner/terminal'

export default {
  arguments: '<run|folder|file...>',
  description: `Searches tapes and other files for secrets: credentials in known formats, values of
secret variables in the current environment, and random values after names such as \`api_key\`,
even if they are encoded or compressed. Prints where each secret is, but never the secret itself.

Also lists what is possibly a secret: a random value near a word such as \`key\` or \`password\`. These
do not change the exit code, and no command refuses a run because of them.

Exit code 3 if there are findings, or if a file cannot be read completely: a damaged tape, or
compressed content of more than 8 MB.`,
  options: {
    '--check': 'search for secrets; write no copy',
    '--sarif <file>': 'also write the findings to this file as SARIF 2.1.0, for code scanning',
    ...DIR_OPTION,
  },
  examples: [
    'retake scrub --check last',
    'retake scrub --check .retake test/tapes',
    'retake scrub --check . --sarif secrets.sarif',
  ],
  run(options, names) {
    const files = names.flatMap((name) => filesToScan(name, () => options.store))
    const findings: SecretFinding[] = []
    const possible: SecretFinding[] = []
    const incomplete: IncompleteFile[] = []
    using progress = new Progress()
    for (const [index, file] of files.entries()) {
      progress.say(`scanning ${index + 1} of ${files.length}: ${path.basename(file)}`)
      const { unread, ...scanned } = scanFile(file)
      findings.push(...scanned.findings)
      possible.push(...scanned.possible)
      if (unread !== undefined) incomplete.push({ file, why: unread })
    }
    progress.stop()
    const sarif = options.text('sarif')
    if (sarif !== undefined)
      writeOrReport(sarif, () =>
        writeFileSync(sarif, sarifOf([...findings, ...possible], incomplete)),
      )
    if (options.json) printJson({ files: files.length, findings, possible, incomplete })
    else {
      for (const { file, event, where, rule } of [...findings, ...possible])
        console.log(
          `${fromHere(file)}: ${event === undefined ? where : `event ${event}, ${where}`}: ${SECRET_RULES[rule]}`,
        )
      for (const { file, why } of incomplete)
        console.error(`warning: ${fromHere(file)}: ${INCOMPLETE} ${why}`)
      const others = possible.length === 0 ? '' : `, and ${possible.length} possible`
      console.error(
        `${plural(findings.length, 'finding')}${others} in ${plural(files.length, 'file')}`,
      )
    }
    return findings.length + incomplete.length === 0 ? 0 : FOUND
  },
} satisfies Verb

interface IncompleteFile {
  readonly file: string
  readonly why: string
}

const INCOMPLETE = 'It could not be read completely and may contain more secrets.'

function sarifOf(
  findings: readonly SecretFinding[],
  incomplete: readonly IncompleteFile[],
): string {
  const rules = Object.entries(SECRET_RULES).map(([id, text]) => ({
    id,
    shortDescription: { text: id === 'possible' ? text : `Contains ${text}` },
  }))
  const results = findings.map(({ rule, file, where, event, line = 1 }) => ({
    ruleId: rule,
    level: rule === 'possible' ? 'warning' : 'error',
    message: {
      text: `${SECRET_RULES[rule]}, in ${event === undefined ? where : `event ${event}, ${where}`}`,
    },
    locations: [
      { physicalLocation: { artifactLocation: artifactOf(file), region: { startLine: line } } },
    ],
  }))
  const toolExecutionNotifications = incomplete.map(({ file, why }) => ({
    level: 'error',
    message: { text: `${INCOMPLETE} ${why}` },
    locations: [{ physicalLocation: { artifactLocation: artifactOf(file) } }],
  }))
  const invocations = [{ executionSuccessful: incomplete.length === 0, toolExecutionNotifications }]
  const driver = { name: 'retake', version: version(), rules }
  const schema = 'https://json.schemastore.org/sarif-2.1.0.json'
  return JSON.stringify({
    $schema: schema,
    version: '2.1.0',
    runs: [{ tool: { driver }, invocations, results }],
  })
}

const artifactOf = (file: string) => ({
  uri: encodeURI(path.relative('.', file).replaceAll('\\', '/')),
})
