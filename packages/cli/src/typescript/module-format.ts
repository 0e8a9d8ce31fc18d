import fs from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'

// Taken before the engine replaces them: the hooks run inside the recorded process.
const { readFileSync } = fs
const { compileFunction } = vm

const CJS_NAMES = ['exports', 'require', 'module', '__filename', '__dirname']

/**
 * Decides whether Node treats a TypeScript file as a module. Like Node's own
 * rule for `.js`, but import and export statements always make a module, also
 * under `"type": "commonjs"`: TypeScript projects of that type are written so.
 */
export function moduleFormat(file: string, code: string): 'module' | 'commonjs' {
  if (file.endsWith('.mts')) return 'module'
  if (file.endsWith('.cts')) return 'commonjs'
  if (packageType(path.dirname(file)) === 'module') return 'module'
  try {
    compileFunction(code, CJS_NAMES)
    return 'commonjs'
  } catch {
    // Not a valid CommonJS body: import, export, import.meta or await at the top.
    return 'module'
  }
}

const types = new Map<string, string | undefined>()

function packageType(folder: string): string | undefined {
  if (types.has(folder)) return types.get(folder)
  const type = readPackageType(folder)
  types.set(folder, type)
  return type
}

function readPackageType(folder: string): string | undefined {
  try {
    const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
      type?: string
    }
    return manifest.type
  } catch {
    const parent = path.dirname(folder)
    return parent === folder ? undefined : packageType(parent)
  }
}
