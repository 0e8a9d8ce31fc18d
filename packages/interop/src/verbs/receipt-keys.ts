import { readFileSync, renameSync } from 'node:fs'
import { createPublicKey, type KeyObject } from 'node:crypto'
import {
  ed25519Key,
  KEY_PURPOSES,
  keyFileOf,
  type KeyPurpose,
  ownKey,
  ownOrNewKey,
  publicKeyText,
  storeKey,
  VaultKey,
} from '@retake/engine/runs'
import { type Options, usageError, type Verb } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'
import { findKey, knownKeys, nameKey } from '../receipts/known-keys.js'
import { printJson, tableLines } from '@retake/runner/terminal'

export default {
  arguments: '[new | export <seal|approval> | import <file> | trust <name> <key> | forget <name>]',
  description: `Lists your keys and the public keys that you trust. \`seal\` signs recordings
(\`record --sign\`) and receipts. \`approval\` signs decisions about guarded tools. Both belong to
this user on this machine and are created on first use. \`vault\` makes pseudonyms and encrypts
vaults (\`retake scrub\`); only its name is shown. The key itself is in vault.key in the same
folder.

\`new\` creates the seal key. \`export\` prints a public key, which others can \`trust\`.
\`import\` uses the private key in a PEM file for seals, for example on a build server. \`trust\`
gives a name to the owner of a public key, which is passed as text or as a PEM file. \`forget\`
removes that name.`,
  options: {
    '--replace':
      'with new and import: rename the old key file and keep its public key, so that old receipts still show their owner',
  },
  examples: [
    'retake receipt keys',
    'retake receipt keys export seal',
    'retake receipt keys trust build-server build-server.pem',
    'retake receipt keys import seal-key.pem',
  ],
  run(options, [what, name = '', key = '']) {
    if (what === 'new') return create(options, () => ownOrNewKey('seal'))
    if (what === 'import')
      return create(options, () => storeKey('seal', readPrivateKey(name)), name)
    if (what === 'export') {
      const { json } = options
      if (!(KEY_PURPOSES as readonly string[]).includes(name))
        throw usageError(`Unknown key "${name}".`, `Use one of ${KEY_PURPOSES.join(', ')}.`)
      const key = createPublicKey(ownOrNewKey(name as KeyPurpose))
      const pem = key.export({ type: 'spki', format: 'pem' }).toString()
      if (json) printJson({ purpose: name, key: publicKeyText(key), pem })
      else console.log(pem.trim())
      return 0
    }
    if (what === 'trust') nameKey(checkedName(name), findKey(key))
    else if (what === 'forget' && !nameKey(name)) throw cliErrors.KEY_NOT_FOUND(name)
    return list(options)
  },
} satisfies Verb

function create(options: Options, make: () => KeyObject, imported?: string): number {
  // Throws before the old key is renamed.
  if (imported !== undefined) readPrivateKey(imported)
  const before = ownKey('seal')
  if (before !== undefined) {
    if (!options.flag('replace')) throw cliErrors.KEY_EXISTS(keyFileOf('seal'))
    const day = new Date().toISOString().replaceAll(/[:.]/g, '-')
    nameKey(`this machine until ${day}`, publicKeyText(before))
    renameSync(keyFileOf('seal'), keyFileOf('seal').replace(/pem$/, `until-${day}.pem`))
  }
  const key = publicKeyText(make())
  if (options.json) printJson({ purpose: 'seal', key })
  else process.stderr.write(`seals and receipts are signed with ${key}\n`)
  return 0
}

function readPrivateKey(file: string): KeyObject {
  try {
    return ed25519Key(readFileSync(file, 'utf8'))
  } catch (error) {
    throw cliErrors.KEY_NOT_IMPORTED(file, error)
  }
}

function checkedName(name: string): string {
  if (/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,63}$/u.test(name) && name !== 'this machine') return name
  throw usageError(
    `"${name}" is not a name for a key.`,
    'Use letters, digits, spaces and . _ @ -, for example build-server.',
  )
}

function list({ json }: Options): number {
  const vault = VaultKey.own()
  const keys = [
    ...knownKeys(),
    ...(vault ? [{ name: 'this machine', key: vault.id, purpose: 'vault' }] : []),
  ]
  if (json) for (const each of keys) printJson(each)
  else if (keys.length === 0)
    process.stderr.write(
      'no keys yet; `retake receipt keys new` and `retake record --sign` create one\n',
    )
  else {
    const rows = keys.map(({ name, key, purpose = 'trusted' }) => [name, purpose, key])
    // A truncated key could not be compared.
    console.log(tableLines([['owner', 'for', 'key'], ...rows], Infinity).join('\n'))
  }
  return 0
}
