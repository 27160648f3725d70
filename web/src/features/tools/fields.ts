/** The fields of a form for the arguments of a tool, from its JSON schema. */

export interface ArgumentField {
  readonly name: string
  readonly kind: 'text' | 'number' | 'boolean' | 'json'
  readonly required: boolean
  readonly description: string
}

interface Property {
  readonly type?: unknown
  readonly anyOf?: readonly Property[]
  readonly description?: unknown
}

export function fieldsOf(schema: Readonly<Record<string, unknown>>): ArgumentField[] {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Property>>
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(properties).map(([name, property]) => ({
    name,
    kind: kindOf(property),
    required: required.includes(name),
    description: typeof property.description === 'string' ? property.description : '',
  }))
}

function kindOf(property: Property): ArgumentField['kind'] {
  const types = [property.type, ...(property.anyOf ?? []).map((each) => each.type)].flat()
  const known = types.filter((type) => typeof type === 'string' && type !== 'null')
  if (known.length !== 1) return 'json'
  if (known[0] === 'string') return 'text'
  if (known[0] === 'integer' || known[0] === 'number') return 'number'
  return known[0] === 'boolean' ? 'boolean' : 'json'
}

/** Returns the arguments of a call, or the name of the field that is not valid. Empty optional fields are left out. */
export function argumentsOf(
  fields: readonly ArgumentField[],
  typed: Readonly<Record<string, string>>,
): { readonly values: Record<string, unknown> } | { readonly wrong: string } {
  const values: Record<string, unknown> = {}
  for (const { name, kind, required } of fields) {
    const text = typed[name] ?? ''
    if (text === '' && !required) continue
    if (kind === 'text') values[name] = text
    else {
      try {
        values[name] = JSON.parse(text)
      } catch (error) {
        if (error instanceof SyntaxError) return { wrong: name }
        throw error
      }
    }
  }
  return { values }
}
