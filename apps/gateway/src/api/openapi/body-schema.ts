/** Classes of fields as JSON Schema: the decorators of a body are its only description. */
import { fieldSchemas, nestedFields, type Described, type Schema } from '../validation/fields.js';
import { IGNORED_KEYS } from '../validation/read-body.js';

type BodyType = new () => object;

/** Accepted at every level without effect. */
const IGNORED_PATTERN = `^(__.*|${[...IGNORED_KEYS].join('|')})$`;

/** Component schemas of the bodies that were asked for, and of what they contain. */
export class BodySchemas {
  readonly components: Record<string, Schema> = {};
  private readonly names = new Map<BodyType, string>();

  refOf(type: BodyType): Schema {
    const name = this.names.get(type) ?? this.add(type);
    return { $ref: `#/components/schemas/${name}` };
  }

  private add(type: BodyType): string {
    const name = type.name.replace(/Dto$/, 'Body');
    if (name in this.components) throw new Error(`two classes of bodies are called ${type.name}`);
    this.names.set(type, name);
    this.components[name] = {};
    this.components[name] = this.schemaOf(type);
    return name;
  }

  private schemaOf(type: BodyType): Schema {
    const nested = nestedFields.of(type);
    const fields = [...fieldSchemas.of(type)];
    const properties = fields.map(([name, field]) => {
      const inner = nested.get(name);
      return [name, orNull(inner === undefined ? field : { ...field, schema: this.refOf(inner()) })] as const;
    });
    const required = fields.filter(([, field]) => field.required).map(([name]) => name);
    return {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(required.length > 0 ? { required } : {}),
      patternProperties: { [IGNORED_PATTERN]: {} },
      additionalProperties: false,
    };
  }
}

/** Optional fields may be null, which means the same as leaving them out. */
function orNull({ schema, required }: Described): Schema {
  if (required || Object.keys(schema).length === 0) return schema;
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...(schema.anyOf as Schema[]), { type: 'null' }] };
  if (schema.$ref !== undefined) return { anyOf: [schema, { type: 'null' }] };
  const { type, enum: options, ...rest } = schema;
  return {
    type: [type, 'null'],
    ...(Array.isArray(options) ? { enum: [...(options as unknown[]), null] } : {}),
    ...rest,
  };
}
